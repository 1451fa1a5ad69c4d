// Command indexer stores pods and answers questions from snapshots: a store with
// indexes, without any API server.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/indexer"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{Name: "indexer", About: "Stores pods, by name and by node. Needs no API server.", Offline: true, OnceOnCluster: true, Run: run}

func run(_ context.Context, env *exampleapp.Env) error {
	// An index is a function from an object to the values under which it is found.
	byNode := indexer.NewSingleIndex("node", func(pod *corev1.Pod) (string, bool) {
		return pod.Spec.NodeName, pod.Spec.NodeName != "" // not indexed until it is scheduled
	})
	store, err := indexer.New(indexer.Options[*corev1.Pod]{
		Indexes: []indexer.IndexDefinition[*corev1.Pod]{byNode},
		Logger:  env.Log,
	})
	if err != nil {
		return err
	}

	// A batch of writes becomes visible as a whole. There is one writer at a time.
	write := func(version string, pods ...*corev1.Pod) *indexer.Snapshot[*corev1.Pod] {
		batch := store.Batch()
		defer batch.Discard() // does nothing after Commit
		for _, pod := range pods {
			if _, _, err := batch.Set(pod); err != nil {
				panic(err) // an object without a name
			}
		}
		batch.SetResourceVersion(version)
		return batch.Commit()
	}
	on := func(s *indexer.Snapshot[*corev1.Pod], node string) string {
		var names []string
		for pod := range indexer.ByIndex(s, byNode, node) {
			names = append(names, pod.Name)
		}
		slices.Sort(names) // a store has no order
		return strings.Join(names, " ")
	}

	before := write("41", pod("web-1", "node-a"), pod("web-2", "node-a"), pod("db", "node-b"))
	fmt.Fprintf(env.Out, "at version %s there are on node-a: %s\n", before.ResourceVersion(), on(before, "node-a"))

	after := write("42", pod("web-2", "node-b"))
	fmt.Fprintf(env.Out, "at version %s there are on node-a: %s; on node-b: %s\n", after.ResourceVersion(), on(after, "node-a"), on(after, "node-b"))

	// Readers hold no lock: a snapshot costs one pointer, and never changes.
	fmt.Fprintf(env.Out, "the snapshot of version %s still has on node-a: %s\n", before.ResourceVersion(), on(before, "node-a"))
	for change := range indexer.Diff(before, after) {
		fmt.Fprintf(env.Out, "between the two: %s %s\n", change.Type, change.Key.Name)
	}
	return nil
}

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}
