package faulty_test

import "os"

func Example() {
	os.Mkdir("a", 0o700)
	var unchecked error
	unchecked = nil // want "ineffassign"
	unchecked = os.Mkdir("b", 0o700)
	if unchecked != nil {
		return
	}
}
