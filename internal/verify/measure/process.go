package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"time"
)

// Process is another process, usually of this program, that serves the methods of a receiver with
// [Serve]. It ends when its standard input does: also when the one that started it ends in any way.
type Process struct {
	cmd    *exec.Cmd
	client *rpc.Client
}

// Self returns a command that runs this program with other arguments.
func Self(args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	return exec.Command(self, args...), err
}

// Start starts a command that must call Serve.
func Start(cmd *exec.Cmd) (*Process, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	cmd.WaitDelay = patience // for its output, which its own children may have inherited
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{cmd, rpc.NewClient(stream{out, in})}, nil
}

// name is that of the receiver.
const name = "Process"

// None is the argument of a method that needs none, and the reply of one that has none.
type None bool

// Call calls a method of the process, and returns what it replies. If ctx ends before that, the
// process is killed.
func Call[Reply any](ctx context.Context, p *Process, method string, argument any) (reply Reply, err error) {
	defer context.AfterFunc(ctx, p.kill)()
	err = p.client.Call(name+"."+method, argument, &reply)
	switch {
	case ctx.Err() != nil:
		return reply, context.Cause(ctx)
	case err != nil:
		return reply, fmt.Errorf("%s in another process: %w", method, err)
	}
	return reply, nil
}

// patience is how long a process may take to end.
const patience = time.Minute

func (p *Process) kill() { _ = p.cmd.Process.Kill() } // it fails for a process that has ended

// End ends the process and waits for it, for a minute at most. A nil process has ended already.
func (p *Process) End() error {
	if p == nil {
		return nil
	}
	late := time.AfterFunc(patience, p.kill)
	defer late.Stop()
	_ = p.client.Close() // it fails if the process has ended, which Wait reports
	return p.cmd.Wait()
}

// Serve serves the methods of a receiver, as package net/rpc describes them, until in ends, and
// calls ended then, unless it is nil. It returns when all calls have been answered.
func Serve(receiver any, in io.Reader, out io.Writer, ended func()) error {
	if ended != nil {
		in = &watched{in, ended}
	}
	server := rpc.NewServer()
	if err := server.RegisterName(name, receiver); err != nil {
		return err
	}
	server.ServeConn(stream{in, nopCloser{out}})
	return nil
}

// stream is both directions. The writer's end is that of the stream.
type stream struct {
	io.Reader
	io.WriteCloser
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// watched calls ended when there is nothing more to read.
type watched struct {
	io.Reader
	ended func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		w.ended()
	}
	return n, err
}
