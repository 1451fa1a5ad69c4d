package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// budget is the most that a package, or several, may be. A limit of 0 is none.
type budget struct {
	name    string
	folders []string
	// deep includes the folders below.
	deep bool
	// lines and files count what is not a test; exported counts declarations and methods.
	lines, files, exported int
}

// budgets are the five packages with what only they use, the vocabulary that they share,
// and the layers beside them.
var budgets = []budget{
	{name: "workqueue", folders: []string{"workqueue"}, lines: 2300, files: 14, exported: 85},
	{name: "indexer", folders: []string{"indexer"}, deep: true, lines: 2500, files: 15, exported: 50},
	{name: "deltafifo", folders: []string{"deltafifo"}, deep: true, lines: 800, files: 7, exported: 35},
	{name: "reflector", folders: []string{"reflector"}, deep: true, lines: 5400, files: 33, exported: 60},
	{name: "informer", folders: []string{"informer", "informer/internal/eventlog"}, lines: 3800, files: 24, exported: 110},
	{name: "intern", folders: []string{"informer/intern"}, deep: true, lines: 1500},
	{name: "object, memnet", folders: []string{"internal/object", "internal/memnet"}, lines: 200},
	{name: "sharding", folders: []string{"informer/sharding"}, deep: true, lines: 2800},
	{name: "history", folders: []string{"workqueue/history"}, deep: true, lines: 500},
	{name: "inspect", folders: []string{"informer/inspect"}, deep: true, lines: 3600},
}

// size is what a budget limits.
type size struct{ lines, files, exported int }

// measure counts.
func (b budget) measure(root string) (size, error) {
	var s size
	for _, folder := range b.folders {
		top := filepath.Join(root, filepath.FromSlash(folder))
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != top && (!b.deep || entry.Name() == "testdata"):
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			s.files++
			s.lines += bytes.Count(text, []byte("\n"))
			return err
		})
		if err != nil {
			return s, err
		}
		exported, err := declarations(filepath.Join(top, "api.txt"))
		if err != nil {
			return s, err
		}
		s.exported += exported
	}
	return s, nil
}

var declaration = regexp.MustCompile(`^(func|type|var|const) |^\tfunc `)

// declarations counts what a file of the exported API lists. A package without the file exports nothing.
func declarations(file string) (n int, err error) {
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if declaration.MatchString(lines.Text()) {
			n++
		}
	}
	return n, lines.Err()
}

// report prints what was counted, and returns whether it is within the budget.
func (b budget) report(s size) bool {
	ok := true
	line := fmt.Sprintf("%-15s", b.name)
	for _, c := range []struct {
		what      string
		is, limit int
	}{{"lines", s.lines, b.lines}, {"files", s.files, b.files}, {"exported", s.exported, b.exported}} {
		if c.limit == 0 {
			continue
		}
		line += fmt.Sprintf("  %5d of %5d %s", c.is, c.limit, c.what)
		ok = ok && c.is <= c.limit
	}
	fmt.Printf("%s  %s\n", line, verdict(ok))
	return ok
}
