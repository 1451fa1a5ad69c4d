package informer

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/informerkit/informerkit/internal/object"
)

// degradedGrace is for how long a source may be degraded before Ready reports it.
// A server that restarts, or a watch that breaks, is back within it.
const degradedGrace = 30 * time.Second

// Readiness is what [ReadyHandler] can ask: an [Informer], a [Shared] or a
// [Factory].
type Readiness interface {
	// Ready returns why its caches are not fit for use, or nil if they are.
	Ready() error
}

// Ready returns an error if the informer is not synced, has stopped, or has been
// degraded for longer than 30 seconds: then the cache is readable, but may be
// stale. The error names the informer and the reason.
func (inf *Informer[T]) Ready() error {
	if err := inf.Unsynced(); err != nil {
		return err
	}
	if inf.applier.progress.stopped.Load() {
		return inf.named(ErrStopped)
	}
	var whys []error
	for _, s := range inf.applier.progress.current() {
		// A broken watch is not an outage: the cache stays readable. So it counts only
		// after a while, or a restart of the API server would take all replicas out of service.
		h := s.reflector.Health()
		if _, since, degraded := h.Degraded(); degraded && time.Since(since) > degradedGrace {
			whys = append(whys, fmt.Errorf("informer %q is degraded since %s: %s%w", inf.name, since.Format(time.TimeOnly), s.where(), h.LastError))
		}
	}
	return errors.Join(whys...)
}

// ReadyHandler returns a handler for the readiness probe of a pod. It answers 200
// if all are ready, and else 503 with a line for each reason. It fails if one of
// them is nil, or if there are none.
//
// Think before you use it for a liveness probe: a restart does not help against an
// API server that is out of reach.
func ReadyHandler(all ...Readiness) (http.Handler, error) {
	if len(all) == 0 {
		return nil, errors.New("informer: ReadyHandler has nothing to ask; pass informers or a factory")
	}
	for i, r := range all {
		if object.IsNilPointer(r) {
			return nil, fmt.Errorf("informer: ReadyHandler: argument %d is nil; pass an informer or a factory", i+1)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var whys []error
		for _, r := range all {
			whys = append(whys, r.Ready())
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := errors.Join(whys...); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	}), nil
}
