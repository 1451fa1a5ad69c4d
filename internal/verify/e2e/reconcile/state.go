package reconcile

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// State is what has become of a namespace.
type State struct {
	// Sets holds, by name, what each set has.
	Sets map[string]SetState
	// Orphans are the labels "app" of the pods without a controller, sorted.
	Orphans []string
}

// SetState is what a set has.
type SetState struct {
	// Pods is the number of active pods whose controller it is.
	Pods int
	// Wanted and Generation are those of its spec.
	Wanted     int
	Generation int64
	Status     appsv1.ReplicaSetStatus
}

// Converged reports whether the set has the pods that it wants, and says so.
func (s SetState) Converged() bool {
	return s.Pods == s.Wanted && int(s.Status.Replicas) == s.Wanted && s.Status.ObservedGeneration == s.Generation
}

// ReadState returns the state of a namespace, from the API server.
func ReadState(ctx context.Context, cfg *rest.Config, namespace string) (State, error) {
	u, err := userOf(cfg, namespace)
	if err != nil {
		return State{}, err
	}
	return u.state(ctx)
}

func (u *user) state(ctx context.Context) (State, error) {
	sets, err := u.sets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return State{}, err
	}
	pods, err := u.core.CoreV1().Pods(u.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return State{}, err
	}
	s := State{Sets: map[string]SetState{}}
	for _, set := range sets.Items {
		s.Sets[set.Name] = SetState{Wanted: set.Replicas(), Generation: set.Generation, Status: set.Status}
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if ref := metav1.GetControllerOf(&pod); ref != nil {
			owner := s.Sets[ref.Name]
			owner.Pods++
			s.Sets[ref.Name] = owner
		} else {
			s.Orphans = append(s.Orphans, pod.Labels["app"])
		}
	}
	slices.Sort(s.Orphans)
	return s, nil
}

// verify returns an error unless all of the sets, which number n, have converged.
func (u *user) verify(ctx context.Context, n int) error {
	state, err := u.state(ctx)
	if err != nil {
		return err
	}
	if len(state.Sets) != n {
		return fmt.Errorf("there are %d sets instead of %d", len(state.Sets), n)
	}
	for name, set := range state.Sets {
		if !set.Converged() {
			return fmt.Errorf("set %s has not converged to what it wants: %+v", name, set)
		}
	}
	return nil
}
