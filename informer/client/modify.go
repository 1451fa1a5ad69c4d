package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

const (
	// tries is how often Modify and CreateOrUpdate try, and firstPause how long they wait after
	// the first conflict; each further pause is twice as long.
	tries      = 6
	firstPause = 10 * time.Millisecond
)

// Modify reads an object, lets change modify it, and sends the difference as a PATCH. The server keeps each part that
// change does not touch, including fields that T lacks. If the difference changes a list that the server does not merge by a
// key, it is applied to the JSON of the object on the server, which is read once; see Options.ListMapKeys.
//
// If another writer was faster, the server refuses with a conflict, and Modify starts again with the newest object, six times
// at most, with pauses of some 0.3 s in all. So change may be called several times. What it
// computes from the object must come from the one that it gets. What it says about an object that was looked at
// before, such as observedGeneration, must come from that one: the one that it gets may be newer. An object that
// change leaves as it is, is not written. An error of change ends Modify.
func (c *Client[T]) Modify(ctx context.Context, key types.NamespacedName, change func(obj T) error) (T, error) {
	obj, _, err := c.try(ctx, func() (T, Outcome, error) {
		obj, text, err := c.whole().read(ctx, key)
		if err != nil {
			return obj, Unchanged, err
		}
		return c.changed(ctx, obj, text, change)
	})
	return obj, err
}

// ModifyFrom is [Client.Modify] that starts with the object of a cache. Parts that the cache's Transform drops stay on the
// server. After a conflict, change gets the object of the server, with these parts: let it set single members of maps and
// lists, because a map that it replaces would delete them. ModifyFrom does not modify have. If have is gone, and another
// object has its name, that one is left alone, and the error is NotFound: a finalizer, say, is not removed from an object
// that the caller has never seen.
func (c *Client[T]) ModifyFrom(ctx context.Context, have T, change func(obj T) error) (T, error) {
	if object.IsNil(have) {
		return have, errors.New("client: ModifyFrom: the object is nil; pass one of a cache, or use Modify")
	}
	first := true
	obj, _, err := c.try(ctx, func() (T, Outcome, error) {
		if first {
			first = false
			return c.changedCopy(ctx, have, change)
		}
		obj, text, err := c.whole().read(ctx, object.KeyOf(have))
		if err == nil && obj.GetUID() != have.GetUID() {
			err = apierrors.NewNotFound(c.resource.GroupResource(), have.GetName())
		}
		if err != nil {
			return obj, Unchanged, err
		}
		return c.changed(ctx, obj, text, change)
	})
	return obj, err
}

// Outcome says what CreateOrUpdate did.
type Outcome string

// What CreateOrUpdate does.
const (
	Unchanged Outcome = "unchanged"
	Created   Outcome = "created"
	Updated   Outcome = "updated"
)

// CreateOrUpdate makes an object be as change wants it. Have is the object as the cache has it, or the
// zero value if there is none; it is not modified. What change gets is a copy of it, or an object
// that has only the namespace and the name of key. If the cache was behind, the server refuses, and all of it is
// done again on the object that the server has, as in [Client.Modify].
//
// Change sets what it wants and leaves the rest, which others may have set. Let it set single fields: a list that
// it replaces lacks the server's defaults, so that each call is a request, although nothing changes. An object that
// exists need not be yours: [SetController] refuses one without a controller. To own fields without reading
// them first, use [Client.Apply].
func (c *Client[T]) CreateOrUpdate(ctx context.Context, key types.NamespacedName, have T, change func(obj T) error) (T, Outcome, error) {
	cached := !object.IsNil(have)
	return c.try(ctx, func() (T, Outcome, error) {
		if cached {
			cached = false // another attempt reads
			return c.changedCopy(ctx, have, change)
		}
		obj, text, err := c.whole().read(ctx, key)
		if err == nil {
			return c.changed(ctx, obj, text, change)
		}
		if IgnoreNotFound(err) != nil {
			return obj, Unchanged, err
		}
		obj = c.named(key)
		if err := change(obj); err != nil {
			return obj, Unchanged, err
		}
		if object.KeyOf(obj) != key {
			return obj, Unchanged, fmt.Errorf("client: change has renamed %s to %s", key, object.KeyOf(obj))
		}
		made, err := c.Create(ctx, obj)
		return made, Created, err
	})
}

// changedCopy is changed for an object of a cache, which must not be modified.
func (c *Client[T]) changedCopy(ctx context.Context, have T, change func(T) error) (T, Outcome, error) {
	copied, ok := have.DeepCopyObject().(T)
	if !ok {
		return have, Unchanged, fmt.Errorf("client: the DeepCopyObject of %T returns another type", have)
	}
	return c.changed(ctx, copied, nil, change)
}

// try calls once again after conflicts, and after another writer was faster to create or to delete the object.
func (c *Client[T]) try(ctx context.Context, once func() (T, Outcome, error)) (T, Outcome, error) {
	for attempt := 1; ; attempt++ {
		obj, outcome, err := once()
		lost := apierrors.IsConflict(err) || outcome == Created && apierrors.IsAlreadyExists(err) || outcome == Updated && err != nil && IgnoreNotFound(err) == nil
		if err == nil || !lost || attempt == tries {
			return obj, outcome, err
		}
		// Writers that collide would collide again if they all waited equally long.
		pause := firstPause << (attempt - 1)
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return obj, outcome, errors.Join(err, context.Cause(ctx))
		}
	}
}

// whole is the client of the objects themselves.
func (c *Client[T]) whole() *Client[T] {
	if c.opts.Subresource != "status" {
		return c
	}
	whole := *c
	whole.opts.Subresource = ""
	return &whole
}

// named returns an object that has only its key and its kind.
func (c *Client[T]) named(key types.NamespacedName) T {
	obj := reflect.New(c.elem).Interface().(T)
	obj.GetObjectKind().SetGroupVersionKind(c.kind)
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	return obj
}
