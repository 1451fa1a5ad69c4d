package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// stopGrace is how long a program may take to end after SIGTERM. kube-apiserver
// waits for its requests; watches, however, never end by themselves.
const stopGrace = 10 * time.Second

// process is a running child with its output in a file.
type process struct {
	name    string
	logPath string
	handle  *os.Process
	done    chan struct{} // closed when the child has been waited for
	err     error         // why it ended; readable after done
	used    time.Duration // of the processor; readable after done
}

// startProcess runs the program at path. Its output is appended to logPath.
// Its environment is that of this process, and env.
func startProcess(name, path string, args []string, logPath string, env ...string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = filepath.Dir(logPath)
	// A group of its own keeps the Ctrl-C of a terminal from reaching the child
	// before the test has ended it in the right order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)

	p := &process{name: name, logPath: logPath, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer log.Close()
		// The kernel sends the parent-death signal when the *thread* that has
		// forked ends, so this one must not end before the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		p.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p.handle = cmd.Process
	return p, nil
}

// waitReady calls ready until it returns nil, and fails early if the process ends
// or ctx does. The error then holds the last reason and the end of the log.
func (p *process) waitReady(ctx context.Context, ready func(context.Context) error) error {
	const poll = 50 * time.Millisecond
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready (%v); its last words:\n%s", p.name, p.err, tailOfFile(p.logPath))
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready (%w): %v; its last words:\n%s", p.name, ctx.Err(), err, tailOfFile(p.logPath))
		case <-time.After(poll):
		}
	}
}

// stop asks the process to end with SIGTERM, makes it end after the grace, and
// waits until it has.
func (p *process) stop() error {
	return p.end(syscall.SIGTERM, stopGrace)
}

// kill ends the process at once and waits until it has ended.
func (p *process) kill() error {
	return p.end(syscall.SIGKILL, stopGrace)
}

// end sends a signal, then SIGKILL if the process does not end in time.
func (p *process) end(sig os.Signal, grace time.Duration) error {
	if err := p.handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(grace):
	}
	if err := p.handle.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", p.name, err)
	}
	<-p.done
	return nil
}
