package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// program is one whose tests are run.
type program struct {
	name, module, version string
	packages              []string
	// slow programs run only by name: they take half an hour, or a kube-apiserver.
	slow bool
	// staging is the version of the published modules that stand for the folders below
	// staging/ of the program's repository. Modules of the proxy lack those folders.
	staging string
	// apiServer is for tests that start a kube-apiserver by controller-runtime's envtest, and
	// are written with Ginkgo.
	apiServer bool
	// newCache are files that make a manager, which gets the cache of informer/controllerruntime
	// by its option NewCache. The command adopt is not used then.
	newCache []string
	// differs lists tests that pass with client-go's informers only, with the reason.
	differs map[string]string
}

var programs = []program{
	{name: "sample-controller", module: "k8s.io/sample-controller", version: "v0.36.3", packages: []string{"./..."}},
	{name: "cloud-provider", module: "k8s.io/cloud-provider", version: "v0.36.3", packages: []string{"./controllers/..."}},
	{name: "prometheus", module: "github.com/prometheus/prometheus", version: "v0.316.0", packages: []string{"./discovery/kubernetes/..."}},
	{name: "vertical-pod-autoscaler", module: "k8s.io/autoscaler/vertical-pod-autoscaler", version: "v1.8.1", packages: []string{"./pkg/..."}},
	{name: "cert-manager", module: "github.com/cert-manager/cert-manager", version: "v1.21.2", packages: []string{"./internal/...", "./pkg/..."}, slow: true},
	{name: "kubernetes", module: "k8s.io/kubernetes", version: "v1.36.3", packages: []string{"./pkg/controller/..."}, slow: true, staging: "v0.36.3", differs: refused},
	{name: "lws", module: "sigs.k8s.io/lws", version: "v0.9.0", packages: []string{"./test/integration/..."}, slow: true, apiServer: true},
	{name: "lws-newcache", module: "sigs.k8s.io/lws", version: "v0.9.0", packages: []string{"./test/integration/controllers"}, slow: true, apiServer: true, newCache: []string{"test/integration/controllers/suite_test.go"}},
}

// choose returns the programs with these names: without names all that are not slow, and
// with "all" all. Names of packages behind that of a program, such as ./pkg/..., select those.
func choose(names []string) ([]program, error) {
	if slices.Equal(names, []string{"all"}) {
		return programs, nil
	}
	var chosen []program
	if len(names) == 0 {
		for _, p := range programs {
			if !p.slow {
				chosen = append(chosen, p)
			}
		}
		return chosen, nil
	}
	for i, name := range names {
		if strings.HasPrefix(name, "./") && i > 0 {
			last := &chosen[len(chosen)-1]
			if !strings.HasPrefix(names[i-1], "./") {
				last.packages = nil // not those of the list
			}
			last.packages = append(last.packages, name)
			continue
		}
		i := slices.IndexFunc(programs, func(p program) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no program has the name %q; -list prints the names", name)
		}
		chosen = append(chosen, programs[i])
	}
	for i, p := range chosen {
		for _, test := range p.listed() {
			if !p.selects(test) {
				chosen[i].differs = maps.Clone(chosen[i].differs)
				delete(chosen[i].differs, test)
			}
		}
	}
	return chosen, nil
}

// selects reports whether a test is one of the selected packages.
func (p program) selects(test string) bool {
	pkg, _, _ := strings.Cut(test, " ")
	return slices.ContainsFunc(p.packages, func(pattern string) bool {
		below, deep := strings.CutSuffix(path.Join(p.module, pattern), "/...")
		return pkg == below || deep && strings.HasPrefix(pkg, below+"/")
	})
}

// list prints the programs, and the tests that are known to differ.
func list(w io.Writer) {
	for _, p := range programs {
		slow := ""
		if p.slow {
			slow = " (slow: only by name)"
		}
		fmt.Fprintf(w, "%s: %s@%s %s%s\n", p.name, p.module, p.version, strings.Join(p.packages, " "), slow)
		for _, test := range p.listed() {
			fmt.Fprintf(w, "\t%s differs: %s\n", test, p.differs[test])
		}
	}
}
