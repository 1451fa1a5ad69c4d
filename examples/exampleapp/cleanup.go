package exampleapp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/informerkit/informerkit/informer/client"
)

const cleanupTimeout = 10 * time.Second

// CleanUp deletes the namespace that an example has made, whatever has happened, also after Ctrl-C. It
// returns err, with which the example ends, and what went wrong. A namespace that was there before is
// not the example's to delete, so none is given.
func CleanUp[T client.Object](ctx context.Context, namespaces *client.Client[T], made T, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	gone := client.IgnoreNotFound(namespaces.Delete(ctx, client.KeyOf(made), client.Exactly(made)))
	if gone == nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = nil // Ctrl-C is no failure, but this is
	}
	return errors.Join(err, fmt.Errorf("namespace %s is left behind, delete it by hand: %w", made.GetName(), gone))
}
