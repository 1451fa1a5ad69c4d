package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// process is a controller's process, seen from the measuring one.
type process struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	encoder *json.Encoder
	decoder *json.Decoder
	said    bytes.Buffer // on its standard error; complete when it has ended

	started time.Time // just before it was
	synced  time.Time // when its caches were
}

// startProcess runs cmd, which must call [Serve], and returns when the controller
// that o asks for has synced.
func startProcess(ctx context.Context, cmd *exec.Cmd, o startOrder) (*process, error) {
	p := &process{cmd: cmd}
	cmd.Stderr = &p.said
	cmd.WaitDelay = stopGrace
	var err error
	if p.orders, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.encoder, p.decoder = json.NewEncoder(p.orders), json.NewDecoder(out)
	p.started = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	a, err := p.ask(ctx, order{Start: &o})
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.synced = a.At
	return p, nil
}

// stopGrace is how long a process may take to end.
const stopGrace = 10 * time.Second

// ask gives an order and returns the answer.
func (p *process) ask(ctx context.Context, o order) (answer, error) {
	// The process is killed when ctx ends; that ends the read.
	defer context.AfterFunc(ctx, func() { p.kill() })()
	var a answer
	err := errors.Join(p.encoder.Encode(o), p.decoder.Decode(&a))
	switch {
	case ctx.Err() != nil:
		return a, context.Cause(ctx)
	case err != nil:
		return a, fmt.Errorf("the controller's process does not answer: %w", err)
	case a.Error != "":
		return a, fmt.Errorf("the controller's process: %s", a.Error)
	}
	return a, nil
}

// sample asks for what the process has used.
func (p *process) sample(ctx context.Context) (*usage, error) {
	a, err := p.ask(ctx, order{Sample: true})
	return a.Sample, err
}

// live asks for what is live on heap and stacks of the process.
func (p *process) live(ctx context.Context) (uint64, error) {
	a, err := p.ask(ctx, order{Live: true})
	return a.Live, err
}

func (p *process) kill() {
	// It fails only for a process that has ended already.
	_ = p.cmd.Process.Kill()
}

// stop ends the process and waits until it has ended.
func (p *process) stop() error {
	p.orders.Close()
	late := time.AfterFunc(stopGrace, p.kill)
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the controller's process: %w; it said:\n%s", err, p.said.Bytes())
	}
	return nil
}
