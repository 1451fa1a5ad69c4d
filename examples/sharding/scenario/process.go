package scenario

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// process is a replica in a process of its own. Its standard input is a pipe whose other end
// is here: when this process ends, however it does, the pipe is closed, and the replica
// ends too.
type process struct {
	name  string
	cmd   *exec.Cmd
	stop  context.CancelFunc // asks it to end, so that it can hand over its parts
	ended chan struct{}

	mu          sync.Mutex
	parts, foos int // as it has said last
}

// stopTimeout is after how long a replica is killed that was asked to end.
const stopTimeout = 20 * time.Second

// says is the line in which a replica says what it has.
var says = regexp.MustCompile(`has (\d+) of \d+ parts, with (\d+) foos`)

// launch starts a replica.
func (s *script) launch(name string) (*process, error) {
	ctx, stop := context.WithCancel(context.Background())
	p := &process{name: name, ended: make(chan struct{}), stop: stop}
	p.cmd = exec.CommandContext(ctx, s.Program, "-kubeconfig", s.Kubeconfig, "-inspect", "off", "-until-eof", "-identity", name,
		"-lease-namespace", s.Namespace, "-lease-duration", s.Lease.String(), "-workers", strconv.Itoa(s.workers))
	p.cmd.Env = append(os.Environ(), s.Env...)
	p.cmd.Stderr = s.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Cancel, p.cmd.WaitDelay = stdin.Close, stopTimeout
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if m := says.FindStringSubmatch(lines.Text()); m != nil {
				p.mu.Lock()
				p.parts, _ = strconv.Atoi(m[1])
				p.foos, _ = strconv.Atoi(m[2])
				p.mu.Unlock()
			}
		}
		_ = p.cmd.Wait() // what matters is what it has done
	}()
	return p, nil
}

// has returns the number of parts and of Foos that are in its cache.
func (p *process) has() (parts, foos int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parts, p.foos
}

// kill ends it as kill -9 does, and returns when it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}
