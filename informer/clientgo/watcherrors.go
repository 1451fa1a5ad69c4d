package clientgo

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/reflector"
)

// watchErrors calls a program's watch error handler for the failures for which client-go
// calls it: a collection cannot be read, or a watch not be started.
type watchErrors struct {
	lw      upstream.ListerWatcher
	example runtime.Object
	name    string

	handler upstream.WatchErrorHandlerWithContext // not changed after the start
	ctx     context.Context                       //nolint:containedctx // that of the run
	// reflector stands for ours in the calls. It is never run.
	reflector func() *upstream.Reflector
}

func newWatchErrors(lw upstream.ListerWatcher, example runtime.Object, name string) *watchErrors {
	w := &watchErrors{lw: lw, example: example, name: name, ctx: context.Background(), handler: upstream.DefaultWatchErrorHandler}
	w.reflector = sync.OnceValue(func() *upstream.Reflector {
		return upstream.NewReflectorWithOptions(lw, example, nil, upstream.ReflectorOptions{Name: name, TypeDescription: name})
	})
	return w
}

// failed is the policy of the reflector. It leaves all decisions to it.
func (w *watchErrors) failed(f reflector.Failure) reflector.Decision {
	switch {
	case f.Op == "stream": // client-go only logs it
	case f.Op == "watch" && (f.Class == reflector.ClassRefused || f.Class == "throttled"): // it waits and retries
	case f.Op == "watch":
		w.handler(w.ctx, w.reflector(), f.Err)
	default:
		w.handler(w.ctx, w.reflector(), fmt.Errorf("failed to list %s: %w", w.name, f.Err))
	}
	return reflector.Retry()
}

// quarantined reports an object that is not cached.
func (w *watchErrors) quarantined(err *reflector.ObjectError) {
	utilruntime.HandleErrorWithContext(w.ctx, err, "An object is not cached", "informer", w.name)
}
