package leaktest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMain(m *testing.M) { Main(m) }

func TestGoroutineLeftBehindIsFound(t *testing.T) {
	before := map[string]bool{}
	for _, g := range stacks() {
		before[id(g)] = true
	}
	stop, running := make(chan struct{}), make(chan struct{})
	go func() {
		close(running)
		<-stop
	}()
	<-running
	left := find(before)
	assert.Len(t, left, 1)
	assert.Contains(t, strings.Join(left, ""), "TestGoroutineLeftBehindIsFound", "its stack says where it comes from")
	close(stop)
	assert.Empty(t, wait(before), "it may end a little later")
}

func TestTestsThatLeaveNothingPass(t *testing.T) {
	Check(t)
	done := make(chan struct{})
	go close(done)
	<-done
}
