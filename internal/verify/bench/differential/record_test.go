package differential

import (
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/informertest"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// keys are the objects of all histories; few, so that things happen to them.
var keys = func() []types.NamespacedName {
	var all []types.NamespacedName
	for i := range 8 {
		ns := []string{"default", "kube-system"}[i%2]
		all = append(all, types.NamespacedName{Namespace: ns, Name: string(rune('a' + i))})
	}
	return all
}()

// record writes to the server, and remembers every state that there ever was.
type record struct {
	server  *informertest.Server
	stretch atomic.Int64

	mu     sync.Mutex
	now    map[types.NamespacedName]state
	states map[types.NamespacedName]map[state]bool
}

func newRecord(server *informertest.Server) *record {
	return &record{server: server, now: map[types.NamespacedName]state{}, states: map[types.NamespacedName]map[state]bool{}}
}

// stretchNow returns the part of the history that it is in. In odd ones there are
// random faults.
func (r *record) stretchNow() int { return int(r.stretch.Load()) }

func isLoose(stretch int) bool { return stretch%2 == 1 }

func (r *record) loose() bool { return isLoose(r.stretchNow()) }

func (r *record) has(key types.NamespacedName, s state) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[key][s]
}

// write creates the object, or updates it. The lock is held while the server
// has the state and the record has not.
func (r *record) write(key types.NamespacedName, n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	label := fmt.Sprint(n)
	var got metav1.Object
	if _, ok := r.now[key]; ok {
		err := r.server.Modify(pods, key.Namespace, key.Name, func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"n": label})
		})
		if err != nil {
			return err
		}
		if got, err = r.server.Get(pods, key.Namespace, key.Name); err != nil {
			return err
		}
	} else {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"n": label}}}
		if err := r.server.Create(pod); err != nil {
			return err
		}
		got = pod
	}
	s := state{got.GetUID(), got.GetResourceVersion()}
	if r.states[key] == nil {
		r.states[key] = map[state]bool{}
	}
	r.now[key] = s
	r.states[key][s] = true
	return nil
}

func (r *record) remove(key types.NamespacedName) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, key)
	if err := r.server.Delete(pods, key.Namespace, key.Name); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// elsewhere writes to another resource.
func (r *record) elsewhere() error {
	return r.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "c-"}})
}
