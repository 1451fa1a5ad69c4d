package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/cover"
)

// The most that one watch event may pass today, in either encoding. The aim is 25 files, 90
// functions and 110 calls; client-go has 20, 58 and 87.
const (
	mostFiles     = 43
	mostFunctions = 158
	mostCalls     = 230
)

const (
	few, many = 100, 400 // events; the difference is without what happens once
	module    = "github.com/informerkit/informerkit/"
	program   = "internal/verify/way"
)

// way is what one event passes: for each file the functions, with how often each is entered.
type way struct {
	files     map[string][]entered
	functions int
	calls     float64
}

type entered struct {
	function string
	times    float64
}

// wayOfAnEvent runs the program with coverage counters.
func wayOfAnEvent(root string, protobuf bool) (way, error) {
	folder, err := os.MkdirTemp("", "way")
	if err != nil {
		return way{}, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "way")
	if err := command(root, nil, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"...", "-o", binary, "./"+program); err != nil {
		return way{}, err
	}
	var profiles [2][]*cover.Profile
	for i, events := range []int{few, many} {
		data, text := filepath.Join(folder, fmt.Sprint(events)), filepath.Join(folder, fmt.Sprint(events, ".txt"))
		if err := os.Mkdir(data, 0o755); err != nil {
			return way{}, err
		}
		err := command(root, []string{"GOCOVERDIR=" + data}, binary, fmt.Sprintf("-events=%d", events), fmt.Sprintf("-protobuf=%t", protobuf))
		if err != nil {
			return way{}, err
		}
		if err := command(root, nil, "go", "tool", "covdata", "textfmt", "-i="+data, "-o="+text); err != nil {
			return way{}, err
		}
		if profiles[i], err = cover.ParseProfiles(text); err != nil {
			return way{}, err
		}
	}
	return count(root, profiles[0], profiles[1])
}

func command(folder string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = folder, append(os.Environ(), env...), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// count compares the counters of the two runs.
func count(root string, before, after []*cover.Profile) (way, error) {
	w := way{files: map[string][]entered{}}
	counters := map[string]map[int]int{} // by file and line, of the first run
	for _, p := range before {
		counters[p.FileName] = map[int]int{}
		for _, b := range p.Blocks {
			counters[p.FileName][position(b)] = b.Count
		}
	}
	for _, p := range after {
		file := strings.TrimPrefix(p.FileName, module)
		if strings.HasPrefix(file, program+"/") {
			continue
		}
		functions, err := functionsOf(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return w, err
		}
		slices.SortFunc(p.Blocks, func(a, b cover.ProfileBlock) int { return position(a) - position(b) })
		for _, f := range functions {
			i := slices.IndexFunc(p.Blocks, func(b cover.ProfileBlock) bool { return b.StartLine >= f.from && b.StartLine <= f.to })
			if i < 0 {
				continue // without a body
			}
			first := p.Blocks[i]
			times := float64(first.Count-counters[p.FileName][position(first)]) / (many - few)
			if times >= 0.5 {
				w.files[file] = append(w.files[file], entered{f.name, times})
				w.functions++
				w.calls += times
			}
		}
	}
	return w, nil
}

// position orders the blocks of a file.
func position(b cover.ProfileBlock) int { return b.StartLine<<10 + b.StartCol }

// print lists the functions by file, and sums them up by folder.
func (w way) print() {
	type sum struct{ files, functions, calls float64 }
	sums := map[string]sum{}
	for _, file := range slices.Sorted(maps.Keys(w.files)) {
		var names []string
		s := sums[path.Dir(file)]
		s.files++
		for _, e := range w.files[file] {
			s.functions++
			s.calls += e.times
			name := e.function
			if e.times < 0.95 || e.times > 1.05 {
				name += fmt.Sprintf(" ×%.3g", e.times)
			}
			names = append(names, name)
		}
		sums[path.Dir(file)] = s
		fmt.Printf("%s: %s\n", file, strings.Join(names, ", "))
	}
	for _, folder := range slices.Sorted(maps.Keys(sums)) {
		s := sums[folder]
		fmt.Printf("%-26s  %2.0f files  %3.0f functions  %5.1f calls\n", folder, s.files, s.functions, s.calls)
	}
}

// report prints what was counted, and returns whether it is within the budget.
func (w way) report(encoding string) bool {
	ok := len(w.files) <= mostFiles && w.functions <= mostFunctions && w.calls <= mostCalls
	fmt.Printf("%-15s  %5d of %5d files  %5d of %5d functions  %5.0f of %5d calls  %s\n", "event, "+encoding,
		len(w.files), mostFiles, w.functions, mostFunctions, w.calls, mostCalls, verdict(ok))
	return ok
}
