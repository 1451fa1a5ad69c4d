package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A busy part of the recorder blocks the keys of that part only.
//
// Promise history/2
func TestPromise2NoteBlocksOnItsOwnPartOnly(t *testing.T) {
	r := New(Options{Entries: 64})
	busy := Key{Name: "busy"}
	held := r.ring(busy)
	var others []Key
	for i := range 200 {
		if k := (Key{Namespace: "default", Name: fmt.Sprint(i)}); r.ring(k) != held {
			others = append(others, k)
		}
	}
	require.NotEmpty(t, others)
	held.mu.Lock()
	noted, blocked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(noted)
		for _, k := range others {
			r.Note(time.Now(), &Record{What: Added, Key: k})
			r.NoteError(time.Now(), &Record{What: Failed, Key: k}, assert.AnError)
		}
	}()
	go func() {
		defer close(blocked)
		r.Note(time.Now(), &Record{What: Added, Key: busy})
	}()
	select {
	case <-noted:
	case <-time.After(time.Minute):
		t.Error("a key of another part waits")
	}
	select {
	case <-blocked:
		t.Error("a key of the busy part does not wait")
	default:
	}
	held.mu.Unlock()
	<-noted
	<-blocked
}

// silent is an error that must not be asked.
type silent struct{ t *testing.T }

func (e silent) Error() string {
	e.t.Error("the text of the error was asked for")
	return ""
}

// Promise history/2
func TestPromise2NoteCallsNoOtherCode(t *testing.T) {
	r := New(Options{Entries: 64})
	key := Key{Name: "web"}
	r.NoteError(time.Now(), &Record{What: Failed, Key: key}, silent{t})
	require.Len(t, r.Of("web").Entries, 1)
}
