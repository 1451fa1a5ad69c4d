package scenario

import (
	"bufio"
	"context"
	"fmt"
	"io"
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
	stdin io.Closer
	ended chan struct{}

	mu          sync.Mutex
	parts, foos int // as it has said last
}

// says is the line in which a replica says what it has, and shown the one in which it says
// where its page is.
var (
	says  = regexp.MustCompile(`has (\d+) of \d+ parts, with (\d+) foos`)
	shown = regexp.MustCompile(`is shown at http://\S+`)
)

// launch starts a replica.
func (s *script) launch(name string) (*process, error) {
	p := &process{name: name, ended: make(chan struct{})}
	// Not with a context: it is asked to end by its standard input, so that it can hand
	// over its parts.
	inspect := "off"
	if s.Inspect {
		inspect = "127.0.0.1:0"
	}
	p.cmd = exec.Command(s.Program, "-kubeconfig", s.Kubeconfig, "-inspect", inspect, "-until-eof", "-identity", name, //nolint:noctx // see above
		"-lease-namespace", s.Namespace, "-lease-duration", s.Lease.String(), "-workers", strconv.Itoa(s.Workers))
	p.cmd.Env = append(os.Environ(), s.Env...)
	p.cmd.Stderr = s.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
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
			} else if page := shown.FindString(lines.Text()); page != "" {
				s.Transcript.Say(name, "%s", page)
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

// stop asks it to end, and kills it if it does not.
func (p *process) stop(ctx context.Context) {
	_ = p.stdin.Close()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.kill()
	}
}
