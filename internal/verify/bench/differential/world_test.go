package differential

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/reflector"
)

// world is a server, both informers or both classic chains, and their handlers.
type world struct {
	*record
	seed    uint64
	met     *tally
	planted defect

	ours   *informer.Informer[*corev1.Pod] // nil in a world of classic chains
	theirs cache.SharedIndexInformer       // nil there too
	pairs  []*pair

	// What is compared, whichever it is.
	ourStore interface {
		Snapshot() *indexer.Snapshot[*corev1.Pod]
	}
	theirStore cache.Indexer
	versions   func() (ours, theirs string)
	runs       []func()

	started bool
	down    bool
	indexed bool   // with the second index
	calm    func() // ends the random faults

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// newWorld returns a world of informers in the current bubble. The seed also
// selects the kind of server.
func newWorld(seed uint64, met *tally) (*world, error) {
	return makeWorld(seed, met, (*world).makeInformers)
}

func makeWorld(seed uint64, met *tally, makeSides func(*world) error) (*world, error) {
	opts := informertest.Options{InMemory: true, Scheme: scheme.Scheme, Seed: seed, DisableWatchList: seed%3 == 0}
	server, err := informertest.NewServer(opts)
	if err != nil {
		return nil, err
	}
	w := &world{record: newRecord(server), seed: seed, met: met}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	if err = makeSides(w); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// theirAgent is the user agent by which the server identifies client-go.
const theirAgent = "theirs"

func (w *world) makeInformers() error {
	if err := errors.Join(w.makeOurs(), w.makeTheirs()); err != nil {
		return err
	}
	w.ourStore, w.theirStore = w.ours, w.theirs.GetIndexer()
	w.versions = func() (string, string) {
		return w.ours.Snapshot().ResourceVersion(), w.theirs.LastSyncResourceVersion()
	}
	w.runs = []func(){
		func() { _ = w.ours.Run(w.ctx) }, // the histories show whether it works
		func() { w.theirs.RunWithContext(w.ctx) },
	}
	return nil
}

// inProtobuf reports whether both sides read protobuf, rather than JSON.
func (w *world) inProtobuf() bool { return w.seed%4 == 1 }

func (w *world) ourSource() (reflector.ListerWatcher[*corev1.Pod], error) {
	opts := reflector.ResourceOptions{Encoding: reflector.EncodingJSON}
	if w.inProtobuf() {
		opts.Encoding = reflector.EncodingProtobuf
	}
	return reflector.NewResource[*corev1.Pod](w.server.Config(), pods, opts)
}

func (w *world) makeOurs() error {
	source, err := w.ourSource()
	if err != nil {
		return err
	}
	opts := informer.Options[*corev1.Pod]{
		Indexer: indexer.Options[*corev1.Pod]{Indexes: []indexer.IndexDefinition[*corev1.Pod]{byLabel}},
	}
	if w.seed%8 >= 4 { // half of those in protobuf, and of those in JSON
		opts.Transform = intern.Transform[*corev1.Pod](intern.NewPool())
	}
	w.ours, err = informer.New(source, opts)
	return err
}

func (w *world) theirSource() (*cache.ListWatch, error) {
	cfg := w.server.Config()
	cfg.APIPath, cfg.UserAgent = "/api", theirAgent
	cfg.GroupVersion = &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if w.inProtobuf() {
		cfg.ContentType = "application/vnd.kubernetes.protobuf"
	}
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return cache.NewListWatchFromClient(client, pods.Resource, "", fields.Everything()), nil
}

func (w *world) makeTheirs() error {
	lw, err := w.theirSource()
	if err != nil {
		return err
	}
	w.theirs = cache.NewSharedIndexInformer(lw, &corev1.Pod{}, resyncPeriod, theirIndex(byLabel.Name(), labelValues))
	return w.theirs.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {})
}

// start runs both sides.
func (w *world) start() {
	if w.started {
		return
	}
	w.started = true
	for _, run := range w.runs {
		w.running.Go(run)
	}
	w.settle(2 * time.Second)
}

func (w *world) close() {
	w.cancel()
	for _, p := range w.pairs {
		p.gate.open()
	}
	w.running.Wait()
	w.server.Close()
}

// settle lets d pass and then waits until all goroutines are idle.
func (w *world) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// recovery is longer than both sides wait after failures.
const recovery = 3 * time.Minute

// runCluster returns a function that runs a cluster's history in a bubble of its
// own, with a defect if planted is not nil.
func runCluster(met *tally, planted defect) func(t *testing.T, seed uint64, steps []step) error {
	return runWorld(func(seed uint64) (*world, error) {
		w, err := newWorld(seed, met)
		if err == nil {
			w.planted = planted
		}
		return w, err
	})
}

// runWorld returns a function that runs a history in a world of its own.
func runWorld(newWorld func(seed uint64) (*world, error)) func(t *testing.T, seed uint64, steps []step) error {
	return func(t *testing.T, seed uint64, steps []step) (err error) {
		synctest.Test(t, func(*testing.T) {
			var w *world
			if w, err = newWorld(seed); err != nil {
				return
			}
			defer w.close()
			for i, s := range steps {
				if err = w.step(s); err != nil {
					err = fmt.Errorf("step %d, %v: %w", i+1, s, err)
					return
				}
			}
			if err = w.finish(); err != nil {
				err = fmt.Errorf("at the end: %w", err)
			}
		})
		return err
	}
}
