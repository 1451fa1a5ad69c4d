package main

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/cover"
)

func write(t *testing.T, root, file, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSizeCountsNoTestsAndNoOtherFolders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "p/a.go", "package p\n\nfunc A() {}\n")
	write(t, root, "p/a_test.go", "package p\n")
	write(t, root, "p/README.md", "text\n")
	write(t, root, "p/deep/b.go", "package deep\n")
	write(t, root, "p/testdata/c.go", "package c\n")
	write(t, root, "p/api.txt", "package p // import \"x/p\"\n\nfunc A()\n\ntype T struct\n\t// unexported fields\n\tfunc (T) M()\n")
	for deep, want := range map[bool]size{false: {3, 1, 3}, true: {4, 2, 3}} {
		got, err := budget{folders: []string{"p"}, deep: deep}.measure(root)
		if err != nil || got != want {
			t.Errorf("deep %v: %+v, %v; want %+v", deep, got, err, want)
		}
	}
	if got, err := (budget{folders: []string{"p"}, deep: true, except: "deep"}).measure(root); err != nil || got.lines != 3 {
		t.Errorf("without the folder deep: %+v, %v", got, err)
	}
	if _, err := (budget{folders: []string{"missing"}}).measure(root); err == nil {
		t.Error("a folder that is missing has no size")
	}
}

func TestBudgetIsExceededByEachCount(t *testing.T) {
	t.Parallel()
	b := budget{name: "p", most: size{10, 2, 3}}
	for s, want := range map[size]bool{{10, 2, 3}: true, {11, 2, 3}: false, {10, 3, 3}: false, {10, 2, 4}: false} {
		if got := b.report(s); got != want {
			t.Errorf("%+v: %v", s, got)
		}
	}
	if !(budget{name: "p", most: size{lines: 10}}).report(size{1, 100, 100}) {
		t.Error("no limit is no budget")
	}
}

// A function that an event enters counts, with how often; what happened once at the start does not.
func TestWayIsTheDifferenceOfTwoRuns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "p/a.go", "package p\n\nfunc each() {\n\ttwice()\n}\n\nfunc twice() {\n}\n\nfunc once() {\n}\n\nfunc rarely() {\n}\n")
	write(t, root, program+"/main.go", "package main\n\nfunc main() {\n}\n")
	profile := func(events int) []*cover.Profile {
		block := func(line, count int) cover.ProfileBlock {
			return cover.ProfileBlock{StartLine: line, StartCol: 13, EndLine: line, EndCol: 20, Count: count}
		}
		return []*cover.Profile{
			{FileName: module + "p/a.go", Blocks: []cover.ProfileBlock{block(7, 2*events+1), block(3, events+5), block(10, 7), block(13, events/3)}},
			{FileName: module + program + "/main.go", Blocks: []cover.ProfileBlock{block(3, events)}},
		}
	}
	w, err := count(root, profile(few), profile(many))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.files) != 1 || w.functions != 2 || w.calls != 3 {
		t.Errorf("%+v", w)
	}
	if got := w.files["p/a.go"]; len(got) != 2 || got[0] != (entered{"each", 1}) || got[1] != (entered{"twice", 2}) {
		t.Errorf("%+v", got)
	}
	if !w.report("JSON") {
		t.Error("this is within the budget")
	}
	w.calls = mostCalls + 1
	if w.report("JSON") {
		t.Error("this is not")
	}
}
