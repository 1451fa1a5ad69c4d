// Command budget counts how large the library is, and fails if it is larger than it may be:
// lines and files of each package without tests, exported declarations and methods, the packages that
// programs are compiled from, and what one watch event passes from the wire until a worker is done.
//
//	go -C internal/verify/tools run ./budget          all of it
//	go -C internal/verify/tools run ./budget -way     only the way of an event, with the functions
//
// A budget is there so that growth is a decision: raise it with the reason, in the commit
// that needs it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "../../..", "the root of the repository")
	way := flag.Bool("way", false, "print the functions that an event passes, and nothing else")
	flag.Parse()
	within, err := run(*root, *way)
	if err != nil {
		fmt.Fprintln(os.Stderr, "budget:", err)
		os.Exit(2)
	}
	if !within {
		fmt.Fprintln(os.Stderr, "budget: larger than it may be, see above")
		os.Exit(1)
	}
}

func run(root string, onlyWay bool) (within bool, err error) {
	within = true
	if !onlyWay {
		for _, b := range budgets {
			s, err := b.measure(root)
			if err != nil {
				return false, err
			}
			within = b.report(s) && within
		}
		few, err := reportPackages(root)
		if err != nil {
			return false, err
		}
		within = within && few
	}
	for _, encoding := range []string{"JSON", "protobuf"} {
		w, err := wayOfAnEvent(root, encoding == "protobuf")
		if err != nil {
			return false, err
		}
		if onlyWay {
			w.print()
		}
		within = w.report(encoding) && within
	}
	return within, nil
}

// verdict says whether a count is within its budget.
func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "TOO MUCH"
}
