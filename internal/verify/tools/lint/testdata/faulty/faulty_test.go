package faulty

import (
	"os"
	"testing"
)

func TestUses(t *testing.T) {
	usedByTest()
	os.Mkdir("a", 0o700) // want "errcheck"
	go func() {          // want "SA2002"
		t.Fatal() // want "govet testinggoroutine"
	}()
}

func unusedInTest() {} // want "unused"
