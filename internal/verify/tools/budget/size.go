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

// budget limits how large a package, or several, may be. A limit of 0 is none.
type budget struct {
	name    string
	folders []string
	// deep includes the folders below, but those of the name except.
	deep   bool
	except string
	// most is what there may be today: no more than there was, until a commit says why.
	// aim is how small it is to become.
	most, aim size
}

// budgets are the five packages with what only they use, the vocabulary that they share,
// the layers beside them, and what checks all of them.
var budgets = []budget{
	{name: "workqueue", folders: []string{"workqueue"}, most: size{3027, 13, 103}, aim: size{2300, 14, 85}},
	{name: "indexer", folders: []string{"indexer"}, deep: true, most: size{2468, 16, 52}, aim: size{2500, 15, 50}},
	{name: "deltafifo", folders: []string{"deltafifo"}, deep: true, most: size{946, 7, 35}, aim: size{800, 7, 35}},
	{name: "reflector", folders: []string{"reflector", "internal/apijson"}, deep: true, most: size{7790, 36, 59}, aim: size{5400, 33, 60}},
	{name: "informer", folders: []string{"informer", "informer/internal/eventlog"}, most: size{5797, 28, 128}, aim: size{3800, 24, 110}},
	{name: "intern", folders: []string{"informer/intern"}, deep: true, most: size{1500, 0, 0}, aim: size{1500, 0, 0}},
	{name: "object, memnet", folders: []string{"internal/object", "internal/memnet"}, most: size{239, 0, 0}, aim: size{200, 0, 0}},
	{name: "sharding, health", folders: []string{"informer/sharding", "informer/health"}, deep: true, most: size{3686, 0, 0}, aim: size{2800, 0, 0}},
	{name: "history", folders: []string{"workqueue/history"}, deep: true, most: size{823, 0, 0}, aim: size{500, 0, 0}},
	{name: "explore", folders: []string{"informer/informertest/explore"}, most: size{3704, 18, 24}, aim: size{3000, 18, 24}},
	{name: "examples", folders: []string{"examples"}, deep: true, except: "build", most: size{5701, 0, 0}, aim: size{5000, 0, 0}},
	{name: "inspect", folders: []string{"informer/inspect"}, deep: true, most: size{4192, 0, 0}, aim: size{3600, 0, 0}},
	{name: "bench", folders: []string{"internal/verify/bench", "internal/verify/measure"}, deep: true, except: "differential", most: size{7948, 0, 0}, aim: size{5000, 0, 0}},
	{name: "other checks", folders: []string{
		"internal/verify/e2e", "internal/verify/conformance", "internal/verify/upstream", "internal/verify/browser", "internal/verify/tools",
		"internal/verify/monitoring", "internal/verify/explored", "internal/verify/readme", "internal/verify/scripted",
	}, deep: true, most: size{14622, 0, 0}, aim: size{8500, 0, 0}},
}

// size is what a budget limits: lines and files that are no tests, and exported declarations and methods.
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
			case entry.IsDir() && path != top && (!b.deep || entry.Name() == "testdata" || entry.Name() == b.except):
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
		what          string
		is, most, aim int
	}{
		{"lines", s.lines, b.most.lines, b.aim.lines},
		{"files", s.files, b.most.files, b.aim.files},
		{"exported", s.exported, b.most.exported, b.aim.exported},
	} {
		if c.most == 0 {
			continue
		}
		line += fmt.Sprintf("  %5d of %5d %s (aim %d)", c.is, c.most, c.what, c.aim)
		ok = ok && c.is <= c.most
	}
	fmt.Printf("%s  %s\n", line, verdict(ok))
	return ok
}
