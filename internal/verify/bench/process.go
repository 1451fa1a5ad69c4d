package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// Process is another process of this program, which ends when its standard input does:
// also when the one that started it ends in any way.
type Process struct {
	*exec.Cmd
	in io.Closer
}

// Launch starts this program with other arguments and returns the first line that it
// prints. The environment is that of this process, and env.
func Launch(env []string, args ...string) (*Process, []byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	p := &Process{cmd, in}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%v: %w", args, err), p.End())
	}
	return p, line, nil
}

// End closes the standard input of the process and waits for it, for a minute at most.
func (p *Process) End() error {
	_ = p.in.Close()
	timer := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	return p.Wait()
}

// ServeUntil serves on a port of this machine, whose URL it passes to ready, until in ends.
func ServeUntil(in io.Reader, h http.Handler, ready func(url string) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	if err := ready("http://" + l.Addr().String()); err != nil {
		return errors.Join(err, server.Close())
	}
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, server.Close())
}
