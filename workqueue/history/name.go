package history

import (
	"reflect"
	"runtime"
	"strings"
)

// FuncName returns the name that a person knows a function value by, for the Object.Name
// of a [Record]: "GenerationChanged" for what informer.GenerationChanged returned,
// "main.isReady" for a function of the program, "main.setup.func1" for a literal. The
// path of the package and type parameters are left out. It returns "" for what is not a
// function.
func FuncName(f any) string {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Func || v.IsNil() {
		return ""
	}
	return shortName(runtime.FuncForPC(v.Pointer()).Name())
}

// library are the packages whose constructors name what they return. A literal in one of
// them has the constructor's name, without the package.
var library = []string{"informer.", "workqueue."}

// shortName shortens the name of a function as package runtime has it, such as
// "example.com/a/informer.GenerationChanged[...].func1".
func shortName(name string) string {
	name = strings.ReplaceAll(name, "[...]", "")
	name = strings.TrimSuffix(name, "-fm") // a method value
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	for _, p := range library {
		if rest, ok := strings.CutPrefix(name, p); ok {
			rest, _, _ = strings.Cut(rest, ".func")
			// A method: "(*Informer).Seen".
			if i := strings.LastIndexByte(rest, '.'); i >= 0 {
				rest = rest[i+1:]
			}
			return rest
		}
	}
	return name
}
