package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// observer watches the sets of a namespace, as a user with kubectl would, and
// notes when each of them says that it has what it wants.
type observer struct {
	end   context.CancelFunc
	ended chan struct{}

	measure.Monitor
	at  map[version]time.Time // the first time
	err error                 // why it has ended
}

// version is one that the spec of a set has had.
type version struct {
	set        string
	generation int64
}

// observe begins at the present. The observer must be stopped.
func (u *user) observe(ctx context.Context) (*observer, error) {
	list, err := u.sets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	events, err := u.sets.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	o := &observer{end: end, ended: make(chan struct{}), at: map[version]time.Time{}}
	go func() {
		defer close(o.ended)
		o.fail(o.follow(ctx, u, events, list.ResourceVersion))
	}()
	return o, nil
}

func (o *observer) stop() {
	o.end()
	<-o.ended
}

// mostWatches is how many watches an observer may need. One for each change of the
// definition of the sets, which a server is still working at just after it was installed.
const mostWatches = 10

// follow records the events of a watch that begins at latest, and of those that continue it
// when the server ends it.
func (o *observer) follow(ctx context.Context, u *user, events watch.Interface, latest string) error {
	for range mostWatches {
		var err error
		if latest, err = o.read(ctx, events, latest); err != nil {
			return err
		}
		if events, err = u.sets.Watch(ctx, metav1.ListOptions{ResourceVersion: latest}); err != nil {
			return err
		}
	}
	events.Stop()
	return fmt.Errorf("the server has ended %d watches of the sets, one after the other", mostWatches)
}

// read records the events of a watch that begins at latest until it ends, and returns where
// the next one begins.
func (o *observer) read(ctx context.Context, events watch.Interface, latest string) (string, error) {
	defer events.Stop()
	for {
		select {
		case e, ok := <-events.ResultChan():
			now := time.Now()
			if !ok {
				return latest, context.Cause(ctx)
			}
			if e.Type == watch.Error {
				return latest, apierrors.FromObject(e.Object)
			}
			if set, ok := e.Object.(*api.ReplicaSet); ok {
				o.note(set, now)
				latest = set.ResourceVersion
			}
		case <-ctx.Done():
			return latest, context.Cause(ctx)
		}
	}
}

// note notes a set if it has what it wants.
func (o *observer) note(set *api.ReplicaSet, now time.Time) {
	if set.Status.ObservedGeneration != set.Generation || int(set.Status.Replicas) != set.Replicas() {
		return
	}
	o.Lock()
	defer o.Unlock()
	v := version{set.Name, set.Generation}
	if _, known := o.at[v]; !known {
		o.at[v] = now
		o.Broadcast()
	}
}

func (o *observer) fail(err error) {
	o.Lock()
	defer o.Unlock()
	o.err = err
	o.Broadcast()
}

// waitFor returns when all of the versions have been reconciled, and since when
// each of them is.
func (o *observer) waitFor(ctx context.Context, versions []version) (map[version]time.Time, error) {
	times := map[version]time.Time{}
	var ended error
	err := o.WaitFor(ctx, func() bool {
		for _, v := range versions {
			if at, ok := o.at[v]; ok {
				times[v] = at
			}
		}
		ended = o.err
		return len(times) == len(versions) || ended != nil
	})
	if len(times) == len(versions) {
		return times, nil
	}
	return nil, fmt.Errorf("%d of %d sets are not reconciled: %w", len(versions)-len(times), len(versions), errors.Join(err, ended))
}
