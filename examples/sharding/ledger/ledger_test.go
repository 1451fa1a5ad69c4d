package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/informer/informertest"
)

// history is what a server shows of one Foo.
type history struct {
	t      *testing.T
	ledger *Ledger
	foo    *api.Foo
}

func newHistory(t *testing.T) *history {
	t.Helper()
	l, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, "default")
	require.NoError(t, err)
	h := &history{t, l, &api.Foo{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: types.UID("uid"), Generation: 1}}}
	h.note()
	return h
}

func (h *history) note() { h.ledger.Note(h.foo.DeepCopy()) }

func (h *history) write(annotation, replica string, term int) {
	h.t.Helper()
	mark, err := json.Marshal(controller.Mark{Replica: replica, Part: 3, Term: term, Generation: h.foo.Generation})
	require.NoError(h.t, err)
	h.foo.Annotations = map[string]string{
		controller.Working: h.foo.Annotations[controller.Working], controller.Done: h.foo.Annotations[controller.Done], annotation: string(mark),
	}
	if annotation == controller.Done {
		delete(h.foo.Annotations, controller.Working)
	}
	h.note()
}

func (h *history) begin(replica string, term int) { h.write(controller.Working, replica, term) }
func (h *history) done(replica string, term int)  { h.write(controller.Done, replica, term) }

func (h *history) counts() Counts {
	counts, doubles := h.ledger.Counts()
	assert.Len(h.t, doubles, counts.Double)
	return counts
}

func TestReconcilesThatFollowEachOtherAreNotDouble(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.begin("a", 1)
	h.done("a", 1)
	h.begin("b", 2)
	h.foo.Generation++ // a user changes it
	h.note()
	h.done("b", 2)
	h.begin("b", 2) // once more
	h.begin("b", 2) // after a failure
	h.done("b", 2)
	assert.Equal(t, Counts{Foos: 1, Done: 3}, h.counts())
}

func TestReconcileOfAKilledReplicaIsTaken(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.begin("a", 1)
	h.begin("b", 2)
	h.done("b", 2)
	assert.Equal(t, Counts{Foos: 1, Done: 1, Taken: 1}, h.counts())
}

func TestWriteAfterAnotherReplicaHasBegunIsDouble(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(h *history){
		"done":            func(h *history) { h.begin("a", 1); h.begin("b", 2); h.done("a", 1) },
		"done after done": func(h *history) { h.begin("a", 1); h.begin("b", 2); h.done("b", 2); h.done("a", 1) },
		"begin":           func(h *history) { h.begin("b", 2); h.begin("a", 1) },
		"begin after end": func(h *history) { h.begin("b", 2); h.done("b", 2); h.begin("a", 1) },
		"earlier term":    func(h *history) { h.begin("a", 1); h.begin("b", 2); h.begin("a", 3); h.done("a", 1) },
		"nothing begun":   func(h *history) { h.done("a", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			play(h)
			assert.Equal(t, 1, h.counts().Double)
		})
	}
}

func TestFooIsMissingUntilItsNewestVersionIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t)
		missing := func(foos int) int {
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan int)
			go func() { ended <- h.ledger.Settle(ctx, foos) }()
			synctest.Wait()
			cancel(errors.New("that is long enough"))
			return <-ended
		}
		assert.Equal(t, 1, missing(1))
		assert.Equal(t, 3, missing(3), "two are not there")
		h.begin("a", 1)
		h.foo.Generation = 2
		h.note()
		h.foo.Generation = 1
		h.done("a", 1)
		assert.Zero(t, missing(1))
		h.foo.Generation = 2
		h.note()
		assert.Equal(t, 1, missing(1), "it has changed")
		settled := make(chan int)
		go func() { settled <- h.ledger.Settle(t.Context(), 1) }()
		synctest.Wait()
		h.begin("a", 1)
		h.done("a", 1)
		assert.Zero(t, <-settled)
	})
}

func TestLedgerWithoutAServerFails(t *testing.T) {
	t.Parallel()
	l, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, "default")
	require.NoError(t, err)
	require.ErrorContains(t, l.Begin(t.Context()), "list foos: ")
	_, err = New(&rest.Config{Host: "::"}, "default")
	require.Error(t, err)
}

// A server ends watches: none of the writes meanwhile is missed.
func TestLedgerGoesOnWhenTheServerEndsAWatch(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	require.NoError(t, server.Register(informertest.Resource{
		Group: api.Resource.Group, Versions: []string{api.Resource.Version}, Kind: api.Kind.Kind, RequireResourceVersion: true,
	}))
	l, err := New(server.Config(), "default")
	require.NoError(t, err)
	require.NoError(t, l.Begin(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		defer cancel() // nothing more is known: Settle need not wait
		ended <- l.Follow(ctx)
	}()
	for i := range 20 {
		name := fmt.Sprint("foo-", i)
		require.NoError(t, server.Create(&api.Foo{
			TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: api.Kind.Kind}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		}))
		for term, annotation := range []string{controller.Working, controller.Working, controller.Done} {
			mark, err := json.Marshal(controller.Mark{Replica: "a", Term: term + 1, Generation: 1})
			require.NoError(t, err)
			require.NoError(t, server.Modify(api.Resource, "default", name, func(u *unstructured.Unstructured) {
				annotations := u.GetAnnotations()
				if annotations == nil {
					annotations = map[string]string{}
				}
				annotations[annotation] = string(mark)
				u.SetAnnotations(annotations)
			}))
			server.BreakConnections()
		}
	}
	assert.Zero(t, l.Settle(ctx, 20))
	counts, _ := l.Counts()
	assert.Equal(t, Counts{Foos: 20, Done: 20, Taken: 20, Double: 20}, counts, "done in a term that was not begun")
	cancel()
	require.NoError(t, <-ended)
}

// A history with a gap proves nothing, and neither does a server that is away.
func TestLedgerEndsWhenItCannotGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, "default")
		require.NoError(t, err)
		l.version = "7"
		begin := time.Now()
		err = l.Follow(t.Context())
		require.ErrorContains(t, err, "not all that happened to the foos is known: watch from version 7: ")
		assert.Equal(t, (maxFailures-1)*failurePause, time.Since(begin))
	})
	server := informertest.Start(t, informertest.Options{})
	require.NoError(t, server.Register(informertest.Resource{Group: api.Resource.Group, Versions: []string{api.Resource.Version}, Kind: api.Kind.Kind}))
	l, err := New(server.Config(), "default")
	require.NoError(t, err)
	require.NoError(t, l.Begin(t.Context()))
	require.NoError(t, server.Create(&api.Foo{
		TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: api.Kind.Kind}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"},
	}))
	server.Compact()
	require.ErrorContains(t, l.Follow(t.Context()), "not all that happened")
}
