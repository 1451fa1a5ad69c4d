package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
)

// history is what a server shows of one Foo.
type history struct {
	t      *testing.T
	ledger *ledger
	foo    *api.Foo
}

func newHistory(t *testing.T) *history {
	t.Helper()
	l, err := newLedger(&rest.Config{Host: "http://127.0.0.1:1"}, "default")
	require.NoError(t, err)
	h := &history{t, l, &api.Foo{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: types.UID("uid"), Generation: 1}}}
	h.note()
	return h
}

func (h *history) note() {
	h.ledger.OnEvent(informer.Event[*api.Foo]{Type: informer.Updated, New: h.foo.DeepCopy()})
}

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

func (h *history) doubles() int {
	doubles, err := h.ledger.doublesSoFar()
	require.NoError(h.t, err)
	return len(doubles)
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
	assert.Zero(t, h.doubles())
}

func TestReconcileOfAKilledReplicaIsNotDouble(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.begin("a", 1)
	h.begin("b", 2)
	h.done("b", 2)
	assert.Zero(t, h.doubles())
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
			assert.Equal(t, 1, h.doubles())
		})
	}
}

func TestFooIsMissingUntilItsNewestVersionIsDone(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	assert.Equal(t, 1, h.ledger.missing(1))
	assert.Equal(t, 3, h.ledger.missing(3), "two are not there")
	h.begin("a", 1)
	h.foo.Generation = 2
	h.note()
	h.foo.Generation = 1
	h.done("a", 1)
	assert.Zero(t, h.ledger.missing(1))
	h.foo.Generation = 2
	h.note()
	assert.Equal(t, 1, h.ledger.missing(1), "it has changed")
	h.begin("a", 1)
	h.done("a", 1)
	assert.Zero(t, h.ledger.missing(1))
}

func TestLedgerWithoutAServerFails(t *testing.T) {
	t.Parallel()
	l, err := newLedger(&rest.Config{Host: "http://127.0.0.1:1"}, "default")
	require.NoError(t, err)
	require.ErrorContains(t, l.Run(t.Context()), "connection refused")
	_, err = newLedger(&rest.Config{Host: "::"}, "default")
	require.Error(t, err)
}

// follow starts a server that has the kind, and a ledger of it.
func follow(t *testing.T) (*informertest.Server, *ledger) {
	t.Helper()
	server := informertest.Start(t, informertest.Options{})
	require.NoError(t, server.Register(informertest.Resource{
		Group: api.Resource.Group, Versions: []string{api.Resource.Version}, Kind: api.Kind.Kind, RequireResourceVersion: true,
	}))
	l, err := newLedger(server.Config(), "default")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	require.NoError(t, informer.WaitForSync(t.Context(), l))
	return server, l
}

func create(t *testing.T, server *informertest.Server, name string) {
	t.Helper()
	require.NoError(t, server.Create(&api.Foo{
		TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: api.Kind.Kind}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}))
}

// A server ends watches: none of the writes meanwhile is missed.
func TestLedgerGoesOnWhenTheServerEndsAWatch(t *testing.T) {
	t.Parallel()
	server, l := follow(t)
	for i := range 20 {
		name := fmt.Sprint("foo-", i)
		create(t, server, name)
		for term, annotation := range []string{controller.Working, controller.Working, controller.Done} {
			mark, err := json.Marshal(controller.Mark{Replica: "a", Term: term + 1})
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
	var doubles []string
	require.NoError(t, demo.Until(t.Context(), func() bool {
		var err error
		doubles, err = l.doublesSoFar()
		return len(doubles) == 20 || err != nil
	}, func() string { return fmt.Sprint(doubles) }))
	doubles, err := l.doublesSoFar()
	require.NoError(t, err)
	assert.Len(t, doubles, 20, "done in a term that was not begun")
	assert.Contains(t, doubles[0], "in term 3 has written after a had begun in term 2", "no state between was left out")
}

// A history with a gap proves nothing.
func TestLedgerSaysThatAPartOfTheHistoryIsMissing(t *testing.T) {
	t.Parallel()
	server, l := follow(t)
	require.NoError(t, server.Pause())
	create(t, server, "one")
	server.Compact()
	require.NoError(t, server.Resume())
	var err error
	require.NoError(t, demo.Until(t.Context(), func() bool {
		_, err = l.doublesSoFar()
		return err != nil
	}, func() string { return "the gap is not noticed" }))
	assert.ErrorContains(t, err, "not all that happened to the foos is known")
}
