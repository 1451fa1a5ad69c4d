package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// key is what queues hold and stores are asked for.
type key = types.NamespacedName

// keys returns n different keys, like those of n pods in 20 namespaces.
func keys(n int) []key {
	ks := make([]key, n)
	for i := range ks {
		ks[i] = key{Namespace: namespace(i % 20), Name: podName(i)}
	}
	return ks
}

func namespace(i int) string { return fmt.Sprintf("team-%02d", i) }

// podName has the shape of the names that a ReplicaSet gives; the part that
// varies is spread out, as it is there.
func podName(i int) string {
	return fmt.Sprintf("web-%d-%08x", i/1000, uint32(i)*2654435761)
}

// podsPerNode is a usual density.
const podsPerNode = 100

// pods returns n small pods in so many namespaces. Each has a handful of labels,
// an owner and a node, which is what indexes are made of. They hold no strings
// in common with the keys that keys makes, so that no look-up is decided by the
// address of a string.
func pods(n, namespaces int) []*corev1.Pod {
	ps := make([]*corev1.Pod, n)
	for i := range ps {
		ps[i] = pod(i, namespace(i%namespaces))
	}
	return ps
}

func pod(i int, namespace string) *corev1.Pod {
	controller := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       namespace,
			Name:            podName(i),
			UID:             types.UID(fmt.Sprintf("0b7f8a5c-4d3e-4f21-9c6b-%012x", i)),
			ResourceVersion: strconv.Itoa(1_000_000 + i),
			Labels: map[string]string{
				"app":  "app-" + strconv.Itoa(i/50),
				"tier": "tier-" + strconv.Itoa(i%3),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs-" + strconv.Itoa(i/10),
				UID: types.UID(fmt.Sprintf("5e0d1c9a-77aa-4b1e-8a55-%012x", i/10)), Controller: &controller,
			}},
		},
		Spec: corev1.PodSpec{NodeName: nodeName(i / podsPerNode)},
	}
}

func nodeName(i int) string { return "node-" + strconv.Itoa(i) }

// newer returns a copy of the pod with another resourceVersion.
func newer(p *corev1.Pod, version int) *corev1.Pod {
	c := *p
	c.ResourceVersion = strconv.Itoa(2_000_000 + version)
	return &c
}

// keysOf returns the keys of pods in random order, with strings of their own.
func keysOf(ps []*corev1.Pod) []key {
	ks := make([]key, len(ps))
	for i, j := range shuffled(len(ps)) {
		ks[i] = key{Namespace: strings.Clone(ps[j].Namespace), Name: strings.Clone(ps[j].Name)}
	}
	return ks
}

// shuffled returns the numbers from 0 to n-1 in random order, the same each time.
func shuffled(n int) []int {
	return rand.New(rand.NewPCG(1, 2)).Perm(n)
}

// updates are states to write, one after the other and round and round: two for
// each of a part of the objects, so that each write is a change.
type updates struct {
	states []*corev1.Pod
	next   int
}

// updatesOf returns updates of up to 25,000 of the pods, in random order.
func updatesOf(ps []*corev1.Pod) *updates {
	some := shuffled(len(ps))
	some = some[:min(len(some), 25_000)]
	u := &updates{}
	for version := range 2 {
		for _, i := range some {
			u.states = append(u.states, newer(ps[i], version*len(ps)+i))
		}
	}
	return u
}

// take returns the next state.
func (u *updates) take() *corev1.Pod {
	p := u.states[u.next]
	u.next++
	if u.next == len(u.states) {
		u.next = 0
	}
	return p
}
