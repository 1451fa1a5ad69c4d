package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// testFunc is a test and what it does without a mutant.
type testFunc struct {
	name    string
	took    time.Duration
	reaches []byte // by the numbers of the mutants
}

// quick is how long the tests take together that a mutant runs first.
const quick = time.Second

// test finds out which mutants of a package live.
func test(w io.Writer, o options, name string) (*program, error) {
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	p, err := build(o, name, tmp)
	if err != nil {
		return nil, err
	}
	tests, err := record(w, o, p)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var again []*mutant
	done := func(m *mutant, r result) {
		mu.Lock()
		defer mu.Unlock()
		m.result = r
		if r == lived || r == timedOut {
			fmt.Fprintf(w, "%s\t%s\n", r, p.describe(m))
		}
	}
	queue := make(chan *mutant)
	var workers sync.WaitGroup
	for range o.parallel {
		workers.Go(func() {
			for m := range queue {
				r, load := try(o, p, m, tests)
				if load {
					mu.Lock()
					again = append(again, m)
					mu.Unlock()
					continue
				}
				done(m, r)
			}
		})
	}
	for _, m := range p.mutants {
		if m.result == "" {
			queue <- m
		}
	}
	close(queue)
	workers.Wait()
	for _, m := range again {
		r, _ := try(o, p, m, tests)
		done(m, r)
	}
	return p, nil
}

// record runs each test alone, without a mutant. A test that fails even so is left out.
func record(w io.Writer, o options, p *program) ([]testFunc, error) {
	out, _, err := execute(o, p, time.Minute, nil, "-test.list=^(Test|Example|Fuzz)")
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	size := 1
	for _, m := range p.mutants {
		size = max(size, m.id+1)
	}
	file := filepath.Join(p.tmp, "reached")
	var tests []testFunc
	for _, name := range strings.Fields(out) {
		if err := os.WriteFile(file, make([]byte, size), 0o644); err != nil {
			return nil, err
		}
		started := time.Now()
		out, _, err := execute(o, p, 10*time.Minute, []string{"MUTANTS_REACHED=" + file}, "-test.run=^"+name+"$")
		if err != nil {
			fmt.Fprintf(w, "left out: %s fails without a mutant: %v\n%s\n", name, err, out[:min(len(out), 500)])
			continue
		}
		t := testFunc{name: name, took: time.Since(started)}
		if t.reaches, err = os.ReadFile(file); err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	slices.SortStableFunc(tests, func(a, b testFunc) int { return int(a.took - b.took) })
	return tests, nil
}

// try runs the tests that reach a mutant. load reports that they ran out of a time which
// is short enough for that to be the fault of what runs beside them.
func try(o options, p *program, m *mutant, tests []testFunc) (r result, load bool) {
	r = notCovered
	var names []string
	var took, total time.Duration
	flush := func() bool {
		if len(names) == 0 {
			return true
		}
		limit := max(5*took, o.least)
		pattern := "^(" + strings.Join(names, "|") + ")$"
		out, hung, err := execute(o, p, limit, []string{fmt.Sprint("MUTANTS_ACTIVE=", m.id)}, "-test.failfast", "-test.run="+pattern)
		switch {
		case hung || strings.Contains(out, "panic: test timed out after"):
			r, load = timedOut, limit < 10*took
		case err != nil:
			r = killed
		default:
			r = lived
		}
		names, took = nil, 0
		return r == lived
	}
	for _, t := range tests {
		if t.reaches[m.id] == 0 {
			continue
		}
		if total < quick && total+t.took >= quick && !flush() {
			return r, load
		}
		names = append(names, regexp.QuoteMeta(t.name))
		took += t.took
		total += t.took
	}
	flush()
	return r, load
}

// execute runs the test binary in the package's folder, with 4 GiB of memory, and reports
// whether it had to be killed.
func execute(o options, p *program, limit time.Duration, env []string, args ...string) (out string, hung bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit+5*time.Second)
	defer cancel()
	args = append([]string{"-c", `ulimit -v 4194304; exec "$0" "$@"`, p.binary, "-test.timeout=" + limit.String(), "-test.shuffle=off"}, args...)
	if o.short {
		args = append(args, "-test.short")
	}
	tmp, err := os.MkdirTemp(p.tmp, "run")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir, cmd.Env = p.folder, append(append(os.Environ(), "TMPDIR="+tmp), env...)
	// What a killed test has started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err = cmd.Run()
	return output.String(), errors.Is(ctx.Err(), context.DeadlineExceeded), err
}
