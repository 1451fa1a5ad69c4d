package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// A side is measured in a process of its own, the child, so that neither side
// pays for the other's heap. Parent and child talk in lines of JSON over the
// child's standard input and output: the parent says which side runs when, and
// so runs of both sides alternate although each keeps its process.

// order is what a parent asks of a child: exactly one of the two.
type order struct {
	Calibrate time.Duration `json:"calibrate,omitempty"`
	Run       int           `json:"run,omitempty"`
}

// answer is the number of repetitions for Calibrate, a sample for Run.
type answer struct {
	Repeat int    `json:"repeat,omitempty"`
	Sample Sample `json:"sample,omitzero"`
}

// Serve is the life of a child: it makes one side of the row ready and follows
// orders until in ends. With a profile, the CPU profile of all that happens after
// the set-up, and the heap profile of what the last run has left, are written to
// files whose names begin with it.
func Serve(row Row, side Side, in io.Reader, out io.Writer, profile string) error {
	if profile != "" && row.Measure == LiveHeap {
		runtime.MemProfileRate = 1024 // finer than usual, which would cost time where that counts
	}
	subject := side.Setup()
	var settled func()
	if profile != "" {
		stop, err := profileCPU(profile + ".cpu.pprof")
		if err != nil {
			return err
		}
		defer stop()
		settled = func() { profileHeap(profile + ".heap.pprof") }
	}
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading orders: %w", err)
		}
		var a answer
		if o.Calibrate > 0 {
			a.Repeat = calibrate(row, subject, o.Calibrate)
		} else {
			a.Sample = take(row, subject, o.Run, settled)
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
}

// child is a running child as its parent sees it.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	answers *json.Decoder
}

// start runs the command, which must end up in Serve.
func start(cmd *exec.Cmd) (*child, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &child{cmd, in, json.NewEncoder(in), json.NewDecoder(out)}, nil
}

// ask sends an order and waits for the answer.
func (c *child) ask(o order) (answer, error) {
	var a answer
	if err := c.orders.Encode(o); err != nil {
		return a, fmt.Errorf("asking a child: %w", err)
	}
	if err := c.answers.Decode(&a); err != nil {
		return a, fmt.Errorf("waiting for a child: %w", err)
	}
	return a, nil
}

// stop ends the child; a nil child has ended already.
func (c *child) stop() error {
	if c == nil {
		return nil
	}
	c.in.Close()
	return c.cmd.Wait()
}
