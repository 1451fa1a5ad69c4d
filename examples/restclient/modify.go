package restclient

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// attempts is how often Modify and ModifyStatus try, and firstPause how long they
// wait after the first conflict; each further pause is twice as long.
const (
	attempts   = 6
	firstPause = 10 * time.Millisecond
)

// Modify reads an object, lets change modify it, and writes it back. If another
// writer was faster, the server refuses with a conflict, and Modify does all of
// it again on the newer object: so change may be called several times, and must
// depend on the object that it is given alone. An object that change leaves as
// it is, is not written. An error of change ends Modify.
func (c *Client[T]) Modify(ctx context.Context, key types.NamespacedName, change func(obj T) error) (T, error) {
	return c.modify(ctx, key, change, c.Update)
}

// ModifyStatus is Modify for the status alone.
func (c *Client[T]) ModifyStatus(ctx context.Context, key types.NamespacedName, change func(obj T) error) (T, error) {
	return c.modify(ctx, key, change, c.UpdateStatus)
}

func (c *Client[T]) modify(ctx context.Context, key types.NamespacedName, change func(T) error, write func(context.Context, T) (T, error)) (T, error) {
	var none T
	for attempt := 1; ; attempt++ {
		obj, err := c.Get(ctx, key)
		if err != nil {
			return none, err
		}
		before := obj.DeepCopyObject()
		if err := change(obj); err != nil {
			return none, err
		}
		if equality.Semantic.DeepEqual(before, obj) {
			return obj, nil
		}
		written, err := write(ctx, obj)
		if err == nil || !apierrors.IsConflict(err) || attempt == attempts {
			return written, err
		}
		// Writers that collide would collide again if they all waited equally long.
		pause := firstPause << (attempt - 1)
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
}
