package bench

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// A side is measured in a process of its own, the child, so that neither side
// pays for the other's heap. The parent calls the child's methods, and so runs of
// both sides alternate although each keeps its process.

// child is a side of a row in its own process.
type child struct {
	rows    []Row
	row     Row
	subject Subject
	settled func() // nil without a profile
	stop    func() // of the profile
}

// Assignment is what a child measures.
type Assignment struct {
	Row  string // its name
	Ours bool
	// Profile is a folder for the CPU profile of all that happens after the set-up, and the
	// heap profile of what the last run has left; "" is none.
	Profile string
}

// Serve is the life of a child: it makes one side of one of the rows ready and measures it
// until in ends.
func Serve(rows []Row, in io.Reader, out io.Writer) error {
	c := &child{rows: rows, stop: func() {}}
	defer func() { c.stop() }()
	return measure.Serve(c, in, out, nil)
}

// Setup makes the side ready.
func (c *child) Setup(a Assignment, _ *measure.None) (err error) {
	i := slices.IndexFunc(c.rows, func(r Row) bool { return r.Name() == a.Row })
	if i < 0 {
		return fmt.Errorf("there is no row %q", a.Row)
	}
	c.row = c.rows[i]
	if a.Profile != "" && c.row.Measure == LiveHeap {
		runtime.MemProfileRate = 1024 // finer than usual, which would cost time where that counts
	}
	side, who := c.row.Theirs, "theirs"
	if a.Ours {
		side, who = c.row.Ours, "ours"
	}
	c.subject = side.Setup()
	if a.Profile == "" {
		return nil
	}
	file := strings.Trim(regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(a.Row, "-"), "-")
	prefix := filepath.Join(a.Profile, file+"."+who)
	c.settled = func() { measure.ProfileHeap(prefix + ".heap.pprof") }
	c.stop, err = measure.ProfileCPU(prefix + ".cpu.pprof")
	return err
}

// Calibrate replies how many repetitions fill a time.
func (c *child) Calibrate(d time.Duration, repeat *int) error {
	*repeat = calibrate(c.row, c.subject, d)
	return nil
}

// Run does one run of so many repetitions.
func (c *child) Run(repeat int, s *Sample) error {
	*s = take(c.row, c.subject, repeat, c.settled)
	return nil
}
