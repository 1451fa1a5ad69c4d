package faulty // want "package-comments"

import (
	"context"
	"errors"
	"fmt"
	. "math" // want "dot-imports" "ST1001"
	"os"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

// Facts is about functions that are not of this package: of the standard library, and of others.
func Facts(name string) packages.LoadMode {
	strings.TrimSpace(name)         // want "SA4017"
	return packages.NeedExportsFile // want "SA1019" "inline"
}

type Undocumented struct{} // want "exported:"

type hidden struct{}

// Hidden returns what nobody can name.
func Hidden() *hidden { return nil } // want "unexportedreturn"

// Time is a variable with a unit in its name.
var timeoutSeconds = time.Duration(MaxInt8) // want "ST1011"

var failed = errors.New("x") // want "error-naming" "ST1012"

// Late takes its context last.
func Late(name string, ctx context.Context) error { // want "context-as-argument"
	if ctx.Err() != nil {
		return ctx.Err()
	} else { // want "indent-error-flow"
		fmt.Printf("%d %v\n", name, timeoutSeconds) // want "govet printf" "SA5009"
	}
	for name != "" {
		if name == "a" {
			continue
		} else { // want "superfluous-else"
			name = name // want "govet assign" "SA4018"
		}
	}
	return fmt.Errorf("Cannot %w.", failed) // want "error-strings" "ST1005"
}

func (h hidden) one() {} // want "unused"

func (other hidden) String() string { return "" } // want "receiver-naming"

// Unchecked has errors that it ignores, a misspelling recieve, and a store in vain.
func Unchecked() { // want:-1 "misspell"
	os.Mkdir("a", 0o700) // want "errcheck"
	os.Remove("a")
	//nolint:errcheck // it is a test
	os.Mkdir("b", 0o700)
	os.Mkdir("c", 0o700) //nolint:errcheck // it is a test
	os.Mkdir("d", 0o700) //nolint:unused // not of this linter // want "errcheck"
	n := 1               // want "ineffassign"
	n = 2
	fmt.Println(n == n) // want "SA4000"
	for {               // want "S1000"
		select { // want "S1037"
		case <-time.After(time.Second):
		}
	}
}

func unusedFunction() {} // want "unused"

// Only the test uses this.
func usedByTest() {}
