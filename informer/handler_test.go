package informer

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// labelled returns a pod a/x whose label n is the given one.
func labelled(n string) *pod {
	return &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", UID: "u", Labels: map[string]string{"n": n}}}
}

func TestHandlerFuncsGetTheObjectsOfTheEvent(t *testing.T) {
	t.Parallel()
	one, two := labelled("1"), labelled("2")
	var got []string
	h := HandlerFuncs[*pod]{
		AddFunc:    func(p *pod, initial bool) { got = append(got, fmt.Sprint("add ", initial, " ", p.Labels["n"])) },
		UpdateFunc: func(o, p *pod) { got = append(got, "update "+o.Labels["n"]+p.Labels["n"]) },
		DeleteFunc: func(p *pod) { got = append(got, "delete "+p.Labels["n"]) },
	}
	events := []Event[*pod]{
		{Type: Added, New: one, Origin: Watch},
		{Type: Added, New: one, Origin: InitialList},
		{Type: Updated, Old: one, New: two},
		{Type: Deleted, Old: one, New: two},
		{Type: Deleted, Old: one, FinalStateUnknown: true},
	}
	for _, e := range events {
		h.OnEvent(e)
		HandlerFuncs[*pod]{}.OnEvent(e) // nil functions are not called
	}
	assert.Equal(t, []string{"add false 1", "add true 1", "update 12", "delete 2", "delete 1"}, got)
}

func TestFilterHandlerShowsOnlyWhatMatches(t *testing.T) {
	t.Parallel()
	in, in2, out := labelled("in"), labelled("in"), labelled("out")
	for _, test := range []struct {
		event Event[*pod]
		want  string
	}{
		{Event[*pod]{Type: Added, New: in, Origin: Watch}, "Added a/x in Watch"},
		{Event[*pod]{Type: Added, New: out, Origin: Watch}, ""},
		{Event[*pod]{Type: Updated, Old: in, New: in2, Origin: Watch}, "Updated a/x in→in Watch"},
		{Event[*pod]{Type: Updated, Old: in, New: out, Origin: Watch}, "Deleted a/x in Watch"},
		{Event[*pod]{Type: Updated, Old: out, New: in, Origin: Watch}, "Added a/x in Watch"},
		{Event[*pod]{Type: Updated, Old: out, New: out, Origin: Watch}, ""},
		{Event[*pod]{Type: Deleted, Old: in, New: out, Origin: Watch}, "Deleted a/x out Watch"},
		{Event[*pod]{Type: Deleted, Old: out, New: in, Origin: Watch}, ""},
		{Event[*pod]{Type: Deleted, Old: in, Origin: Relist, FinalStateUnknown: true}, "Deleted a/x in Relist unseen"},
	} {
		got := ""
		test.event.Key = types.NamespacedName{Namespace: "a", Name: "x"}
		h := Handlers(FilterHandler(func(p *pod) bool { return p.Labels["n"] == "in" },
			HandlerFunc[*pod](func(e Event[*pod]) {
				got += describe(e)
				assert.False(t, e.Type == Added && e.Old != nil, "added with an old state")
				assert.False(t, test.event.Type == Updated && e.Type == Deleted && e.New != nil, "the new state does not match")
			})))
		h.OnEvent(test.event)
		assert.Equal(t, test.want, got, "%v", describe(test.event))
	}
}

type keys []string

func (k *keys) Add(key types.NamespacedName) { *k = append(*k, key.String()) }

func TestEnqueueKeyEnqueuesTheKeyOfEveryEvent(t *testing.T) {
	t.Parallel()
	var q keys
	h := EnqueueKey[*pod](&q)
	for _, typ := range []ChangeType{Added, Updated, Deleted} {
		h.OnEvent(Event[*pod]{Type: typ, Key: types.NamespacedName{Namespace: "a", Name: fmt.Sprint(typ)}})
	}
	assert.Equal(t, keys{"a/Added", "a/Updated", "a/Deleted"}, q)
}

func TestEnqueueOwnerEnqueuesTheController(t *testing.T) {
	t.Parallel()
	owned := func(apiVersion, kind, name string, controller bool) *pod {
		p := labelled("")
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, Controller: &controller}}
		return p
	}
	mine, mine2 := owned("apps/v1", "ReplicaSet", "one", true), owned("apps/v1beta1", "ReplicaSet", "two", true)
	var none *pod
	for _, test := range []struct {
		old, new *pod
		want     keys
	}{
		{none, mine, keys{"a/one"}},
		{mine, mine, keys{"a/one"}},
		{mine, mine2, keys{"a/one", "a/two"}},
		{mine, labelled(""), keys{"a/one"}},
		{labelled(""), mine, keys{"a/one"}},
		{mine, none, keys{"a/one"}},
		{none, owned("apps/v1", "ReplicaSet", "x", false), nil},
		{none, owned("apps/v1", "Deployment", "x", true), nil},
		{none, owned("other/v1", "ReplicaSet", "x", true), nil},
		{none, owned("not/a/version", "ReplicaSet", "x", true), nil},
	} {
		gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
		var q, cluster keys
		EnqueueOwner[*pod](&q, Owner{Kind: gvk}).OnEvent(Event[*pod]{Old: test.old, New: test.new})
		assert.Equal(t, test.want, q)
		EnqueueOwner[*pod](&cluster, Owner{Kind: gvk, ClusterScoped: true}).OnEvent(Event[*pod]{Old: test.old, New: test.new})
		for i := range cluster {
			assert.Equal(t, test.want[i], "a"+cluster[i])
		}
	}
}

func TestNamesOfChangesAndOrigins(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Added Updated Deleted ChangeType(0)", fmt.Sprint(Added, " ", Updated, " ", Deleted, " ", ChangeType(0)))
	logged, err := json.Marshal(map[ChangeType]Origin{Deleted: Relist})
	require.NoError(t, err)
	assert.JSONEq(t, `{"Deleted": "Relist"}`, string(logged), "names, not numbers")
	assert.Equal(t, "Watch InitialList Relist CatchUp Resync Origin(0)",
		fmt.Sprint(Watch, " ", InitialList, " ", Relist, " ", CatchUp, " ", Resync, " ", Origin(0)))
}
