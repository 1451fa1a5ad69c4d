package controller

import (
	"context"
	"encoding/json"
	"errors"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/informerkit/informerkit/examples/restclient"
)

// lock is a Lease as client-go's leader elector wants it. Client-go has one of its
// own, on its clientset. The elector calls it from one goroutine.
type lock struct {
	client   *restclient.Client[*coordinationv1.Lease]
	key      types.NamespacedName
	identity string
	lease    *coordinationv1.Lease // as read or written last
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	lease, err := l.client.Get(ctx, l.key)
	if err != nil {
		return nil, nil, err
	}
	l.lease = lease
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	raw, err := json.Marshal(record)
	return record, raw, err
}

func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) (err error) {
	l.lease, err = l.client.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.key.Namespace, Name: l.key.Name},
		Spec:       resourcelock.LeaderElectionRecordToLeaseSpec(&record),
	})
	return err
}

// Update succeeds for one replica at a time: the Lease carries the resourceVersion
// that was read, and the server refuses the second writer with a conflict.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.lease == nil {
		return errors.New("the Lease was not read yet")
	}
	lease := l.lease.DeepCopy()
	lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	written, err := l.client.Update(ctx, lease)
	if err != nil {
		return err
	}
	l.lease = written
	return nil
}

func (l *lock) RecordEvent(string) {}
func (l *lock) Identity() string   { return l.identity }
func (l *lock) Describe() string   { return l.key.String() }
