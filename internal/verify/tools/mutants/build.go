package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// program is a package with its mutants.
type program struct {
	name         string // the folder, relative to the root
	folder       string
	mutants      []*mutant
	inexpressive int
	binary       string
	tmp          string
}

func (p *program) describe(m *mutant) string {
	return fmt.Sprintf("%s/%s:%d:%d\t%s\t%s", p.name, filepath.Base(m.at.Filename), m.at.Line, m.at.Column, m.change, m.line)
}

// build rewrites a package and builds its tests. If a mutant does not compile, it builds
// again without it.
func build(o options, name, tmp string) (*program, error) {
	config := &packages.Config{Dir: o.root, Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo}
	found, err := packages.Load(config, "./"+name)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 || len(found[0].Errors) > 0 || len(found[0].Syntax) == 0 {
		return nil, fmt.Errorf("cannot load the package: %v", found[0].Errors)
	}
	pkg := found[0]
	p := &program{name: name, folder: filepath.Join(o.root, filepath.FromSlash(name)), binary: filepath.Join(tmp, path.Base(name)+".test"), tmp: tmp}
	broken := map[string]bool{} // by file:line
	var unviable []*mutant
	for {
		p.mutants, p.inexpressive = nil, 0
		overlay := map[string]string{}
		write := func(file, text string) error {
			overlay[file] = filepath.Join(tmp, filepath.Base(file))
			return os.WriteFile(overlay[file], []byte(text), 0o644)
		}
		next := 1
		for _, f := range pkg.Syntax {
			file := pkg.Fset.Position(f.FileStart).Filename
			src, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			chosen := choose(src, fmt.Sprintf("%d:%s/%s:", o.seed, name, filepath.Base(file)), o.sample)
			r := &rewriter{fset: pkg.Fset, info: pkg.TypesInfo, src: src, next: next, skip: func(line int) bool {
				return !chosen[line] || broken[place(file, line)]
			}}
			if err := write(file, r.rewrite(f)); err != nil {
				return nil, err
			}
			p.mutants, next = append(p.mutants, r.mutants...), r.next
			p.inexpressive += r.inexpressive
		}
		if err := write(filepath.Join(p.folder, "mutants_helpers.go"), helpers(pkg.Name)); err != nil {
			return nil, err
		}
		failure, err := compile(o, p, overlay)
		if err != nil || failure == "" {
			p.mutants = append(p.mutants, unviable...)
			return p, err
		}
		dropped := drop(p, failure)
		if len(dropped) == 0 {
			return nil, fmt.Errorf("the mutants do not compile:\n%s", failure)
		}
		for _, m := range dropped {
			broken[place(m.at.Filename, m.at.Line)] = true
		}
		unviable = append(unviable, dropped...)
	}
}

func place(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// choose returns the lines of a sample.
func choose(src []byte, key string, percent float64) map[int]bool {
	chosen, seen := map[int]bool{}, map[string]int{}
	for i, line := range strings.Split(string(src), "\n") {
		hash := sha256.Sum256(fmt.Appendf(nil, "%s%s:%d", key, line, seen[line]))
		seen[line]++
		chosen[i+1] = float64(binary.BigEndian.Uint32(hash[:]))/(1<<32)*100 < percent
	}
	return chosen
}

// compile builds the test binary and returns what the compiler says about the mutants.
func compile(o options, p *program, overlay map[string]string) (failure string, err error) {
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return "", err
	}
	file := filepath.Join(p.tmp, "overlay.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", file, "-o", p.binary, "./"+p.name)
	cmd.Dir = o.root
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(out), nil
	}
	return "", err
}

var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// drop returns the mutants of the lines that the compiler complains about, and gives them their result.
func drop(p *program, failure string) (dropped []*mutant) {
	for _, m := range p.mutants {
		for _, match := range complaint.FindAllStringSubmatch(failure, -1) {
			line, _ := strconv.Atoi(match[2])
			if filepath.Base(match[1]) == filepath.Base(m.at.Filename) && m.first <= line && line <= m.last {
				m.result, dropped = notViable, append(dropped, m)
				break
			}
		}
	}
	return dropped
}
