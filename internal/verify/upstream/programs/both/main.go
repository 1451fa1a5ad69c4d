// Command both runs the binary of a test twice: with client-go's informers, whose output
// becomes a file, and then with ours, as if it had been run itself. It is for the command
// programs, which gives it to go test:
//
//	go test -exec "both FOLDER 10m" PACKAGE...
//
// So each test is built and linked once. Each run has the given time.
package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: both FOLDER TIME BINARY [flags]")
		os.Exit(2)
	}
	code, err := both(os.Args[1], os.Args[2], os.Args[3], os.Args[4:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "both:", err)
		code = 2
	}
	os.Exit(code)
}

// both runs a binary twice, and returns the exit code of the second time. The file is named
// after the folder of the package, which is the present one. out gets the output of the second.
func both(folder, limit, binary string, flags []string, out *os.File) (int, error) {
	for i, flag := range flags {
		if strings.HasPrefix(flag, "-test.timeout=") {
			flags[i] = "-test.timeout=" + limit
		}
	}
	pkg, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	theirs, err := os.Create(filepath.Join(folder, url.PathEscape(pkg)))
	if err != nil {
		return 0, err
	}
	if _, err := run(theirs, "off", binary, flags); err != nil {
		return 0, errors.Join(err, theirs.Close())
	}
	if err := theirs.Close(); err != nil {
		return 0, err
	}
	return run(out, "on", binary, flags)
}

// run runs a binary with one kind of informers, and returns its exit code. A flag that names
// the file informerkit-KIND.json names informerkit-on.json or informerkit-off.json then.
func run(out *os.File, informers, binary string, flags []string) (int, error) {
	flags = slices.Clone(flags)
	for i, flag := range flags {
		flags[i] = strings.Replace(flag, "informerkit-KIND.json", "informerkit-"+informers+".json", 1)
	}
	cmd := exec.Command(binary, flags...)
	cmd.Env = append(os.Environ(), "INFORMERKIT="+informers)
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil // -1 after a signal
	}
	return 0, err
}
