package main

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The smallest of the programs; the others take too long for each change.
func TestProgramPassesItsTestsUnchanged(t *testing.T) {
	t.Parallel()
	require.NoError(t, run(t.Context(), []string{"sample-controller"}))
}

func TestProgramsAreChosenByName(t *testing.T) {
	t.Parallel()
	_, err := choose([]string{"sample-controller", "none"})
	require.ErrorContains(t, err, `"none"`)
	chosen, err := choose([]string{"kubernetes", "sample-controller"})
	require.NoError(t, err)
	require.Equal(t, []string{"kubernetes", "sample-controller"}, namesOf(chosen))
	chosen, err = choose([]string{"kubernetes", "./pkg/controller/job/...", "./pkg/controller/podgc", "cert-manager"})
	require.NoError(t, err)
	require.Equal(t, []string{"kubernetes", "cert-manager"}, namesOf(chosen))
	require.Equal(t, []string{"./pkg/controller/job/...", "./pkg/controller/podgc"}, chosen[0].packages)
	require.True(t, chosen[0].selects("k8s.io/kubernetes/pkg/controller/job/util TestOne"))
	require.False(t, chosen[0].selects("k8s.io/kubernetes/pkg/controller/podgc/util TestOne"))
	_, err = choose([]string{"./pkg/controller/job"})
	require.Error(t, err, "of which program?")
	all, err := choose([]string{"all"})
	require.NoError(t, err)
	require.Equal(t, programs, all)
	chosen, err = choose(nil)
	require.NoError(t, err)
	require.NotContains(t, namesOf(chosen), "kubernetes", "slow ones run only by name")
	require.Contains(t, namesOf(chosen), "prometheus")
}

func namesOf(chosen []program) (names []string) {
	for _, p := range chosen {
		names = append(names, p.name)
	}
	return names
}

func TestListNamesEachProgramAndEachDifference(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	list(&out)
	for _, p := range programs {
		require.Contains(t, out.String(), p.name+": "+p.module+"@"+p.version)
		for _, test := range p.listed() {
			require.Contains(t, out.String(), "\t"+test+" differs: "+p.differs[test])
			require.NotEmpty(t, p.differs[test], "a difference has a reason")
		}
	}
}

const recorded = `{"Action":"build-output","ImportPath":"example.com/broken","Output":"broken.go:1: no such thing\n"}
{"Action":"build-fail","ImportPath":"example.com/broken"}
what a test writes to the standard output
{"Action":"run","Package":"example.com/a","Test":"TestOne"}
{"Action":"output","Package":"example.com/a","Test":"TestOne","Output":"fine\n"}
{"Action":"pass","Package":"example.com/a","Test":"TestOne/sub","Elapsed":0}
{"Action":"pass","Package":"example.com/a","Test":"TestOne","Elapsed":0}
{"Action":"skip","Package":"example.com/a","Test":"TestTwo","Elapsed":0}
{"Action":"output","Package":"example.com/a","Test":"TestThree","Output":"got 1\n"}
{"Action":"output","Package":"example.com/a","Test":"TestThree","Output":"want 2\n"}
{"Action":"fail","Package":"example.com/a","Test":"TestThree","Elapsed":0}
{"Action":"fail","Package":"example.com/a","Elapsed":1.5}
{"Action":"pass","Package":"example.com/b","Elapsed":2}`

func TestResultsAreThoseOfTestsAndPackages(t *testing.T) {
	t.Parallel()
	var finished []string
	got, err := readResults(strings.NewReader(recorded), func(pkg, action string, _ float64) {
		finished = append(finished, pkg+" "+action)
	})
	require.NoError(t, err)
	require.Equal(t, results{
		passed: map[string]bool{"example.com/a TestOne": true, "example.com/a TestOne/sub": true},
		failed: map[string]string{
			"example.com/broken " + wholePackage: "broken.go:1: no such thing\n",
			"example.com/a TestThree":            "got 1\nwant 2\n",
			"example.com/a " + wholePackage:      "",
		},
	}, got)
	require.Equal(t, []string{"example.com/a fail", "example.com/b pass"}, finished)
}

func TestRecordedOutputBelongsToItsPackage(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), filepath.FromSlash("/programs/a")
	for name, printed := range map[string]string{
		"one": "\x16=== RUN   TestOne\n\x16--- PASS: TestOne (0.00s)\n\x16=== RUN   TestTwo\ntwo is odd\n\x16--- FAIL: TestTwo (0.00s)\n\x16FAIL\n",
		"two": "\x16=== RUN   TestOne\npanic: at once\n",
	} {
		file := filepath.Join(folder, url.PathEscape(filepath.Join(dir, "pkg", name)))
		require.NoError(t, os.WriteFile(file, []byte(printed), 0o600))
	}
	got, err := readRecorded(t.Context(), folder, dir, "example.com/a")
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"example.com/a/pkg/one TestOne": true}, got.passed)
	require.Contains(t, got.failed["example.com/a/pkg/one TestTwo"], "two is odd")
}

func TestSpecsOfGinkgoCountAsTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "test", "integration")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "informerkit-on.json"), []byte(`[{"SpecReports": [
		{"LeafNodeType": "BeforeSuite", "State": "passed"},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["a", "b"], "LeafNodeText": "works", "State": "passed"},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["a", "b"], "LeafNodeText": "works", "State": "passed"},
		{"LeafNodeType": "It", "LeafNodeText": "later", "State": "skipped"},
		{"LeafNodeType": "It", "LeafNodeText": "fails", "State": "timedout", "CapturedGinkgoWriterOutput": "log\n", "Failure": {"Message": "too slow"}}
	]}]`), 0o600))
	all := results{passed: map[string]bool{}, failed: map[string]string{}}
	require.NoError(t, addSpecs(all, "off", dir, "example.com/a"))
	require.Empty(t, all.passed)
	require.NoError(t, addSpecs(all, "on", dir, "example.com/a"))
	require.Equal(t, results{
		passed: map[string]bool{"example.com/a/test/integration a b works": true, "example.com/a/test/integration a b works #2": true},
		failed: map[string]string{"example.com/a/test/integration fails": "log\ntoo slow\n"},
	}, all)
}

func TestManagerGetsTheCache(t *testing.T) {
	t.Parallel()
	edited, added, err := withNewCache("package suite\n\nvar o = ctrl.Options{\n\t\tScheme: s,\n\t}\n")
	require.NoError(t, err)
	require.Equal(t, "package suite\n\nvar o = ctrl.Options{\n\t\tNewCache: informerkitCache(),\n\t\tScheme: s,\n\t}\n", edited)
	require.True(t, strings.HasPrefix(added, "package suite\n"))
	_, _, err = withNewCache("package suite")
	require.Error(t, err)
}

func TestDifferencesAreCheckedFromBothSides(t *testing.T) {
	t.Parallel()
	p := program{differs: map[string]string{"pkg TestListed": "a reason", "pkg TestMended": "a reason", "pkg TestGone": "a reason"}}
	theirs := results{passed: map[string]bool{"pkg TestBoth": true, "pkg TestListed": true, "pkg TestMended": true, "pkg TestNew": true}}
	ours := results{
		passed: map[string]bool{"pkg TestBoth": true, "pkg TestMended": true, "pkg TestOnlyOurs": true},
		failed: map[string]string{"pkg TestListed": "as expected", "pkg TestNew": "first\nlast\n"},
	}
	var said []string
	for _, err := range p.difference(theirs, ours) {
		said = append(said, err.Error())
	}
	require.Equal(t, []string{
		"pkg TestMended passes, and is listed as one that does not",
		"pkg TestNew does not pass\nfirst\nlast\n",
		"pkg TestGone is listed, and does not pass with client-go's informers either",
	}, said)
	require.Empty(t, program{}.difference(ours, ours))
	require.Equal(t, "2\n3", lastLines("1\n2\n3", 2))
}

func TestPublishedModulesStandForStaging(t *testing.T) {
	t.Parallel()
	edits, err := publishedModules([]byte(`{"Replace": [
		{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
		{"Old": {"Path": "example.com/other"}, "New": {"Path": "example.com/fork", "Version": "v1.0.0"}}
	]}`), "v0.36.3")
	require.NoError(t, err)
	require.Equal(t, []string{"-replace=k8s.io/api=k8s.io/api@v0.36.3"}, edits)
}
