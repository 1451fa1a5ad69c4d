package main

import (
	"bytes"
	"fmt"
	"os/exec"
)

// packages limits how many packages a program is compiled from, the standard library among them: what
// a user waits for who runs an example or a first test.
var packages = []struct {
	name string
	most int
}{
	{"./informer/informertest", 394},
	{"./examples/replicaset", 442},
}

// reportPackages counts the packages, and says whether there are more than there may be.
func reportPackages(root string) (within bool, err error) {
	within = true
	for _, p := range packages {
		list := exec.Command("go", "list", "-deps", p.name)
		list.Dir = root
		out, err := list.Output()
		if err != nil {
			return false, fmt.Errorf("go list -deps %s: %w", p.name, err)
		}
		n := bytes.Count(out, []byte("\n"))
		fmt.Printf("%-24s %4d packages of %d %s\n", p.name, n, p.most, verdict(n <= p.most))
		within = within && n <= p.most
	}
	return within, nil
}
