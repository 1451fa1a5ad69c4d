package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// Cache is a cache.Cache on informers of this library. Make one with [New] or [NewWith].
// All methods may be called concurrently.
//
// Pass it to inspect.Factory to see its informers on a page.
type Cache struct {
	opts       cache.Options // complete
	own        Options       // complete
	configs    *configs
	connection *rest.Config
	encoding   reflector.Encoding

	// kinds is replaced, never modified, so that readers need no lock.
	kinds   atomic.Pointer[map[kindKey]*kind]
	started chan struct{}  // closed by Start
	running sync.WaitGroup // the kinds that run; not added to once stopped

	mu      sync.Mutex // guards the two, and writes of kinds
	begun   bool
	stopped bool
}

var _ cache.Cache = (*Cache)(nil)

func newCache(cfg *rest.Config, opts cache.Options, own Options) (cache.Cache, error) {
	if cfg == nil {
		return nil, errors.New("controllerruntime: the rest.Config is nil; get one from ctrl.GetConfig")
	}
	if own.Separate && own.InternPool != nil {
		return nil, errors.New("controllerruntime: Options has Separate and an InternPool; set one of the two")
	}
	cfg = rest.CopyConfig(cfg)
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	opts, err := complete(cfg, opts)
	if err != nil {
		return nil, err
	}
	c := &Cache{opts: opts, own: own.withDefaults(), encoding: encoding(cfg), started: make(chan struct{})}
	c.kinds.Store(&map[kindKey]*kind{})
	if c.configs, err = newConfigs(&opts); err != nil {
		return nil, err
	}
	if c.connection, err = connection(cfg, &opts); err != nil {
		return nil, err
	}
	return c, nil
}

// Start runs the informers, and those that are asked for later, until ctx ends. Then it
// waits for them and returns nil. A cache starts once.
func (c *Cache) Start(ctx context.Context) error {
	c.mu.Lock()
	if c.begun {
		c.mu.Unlock()
		return errors.New("informer already started") // the words of controller-runtime
	}
	c.begun = true
	for _, k := range *c.kinds.Load() {
		c.launchLocked(k)
	}
	close(c.started)
	c.mu.Unlock()

	<-ctx.Done()
	c.mu.Lock()
	c.stopped = true
	for _, k := range *c.kinds.Load() {
		k.cancel()
	}
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

// launchLocked runs a kind. The caller holds mu, and the cache has not stopped.
func (c *Cache) launchLocked(k *kind) {
	c.running.Go(func() { k.run(c) })
}

// NeedLeaderElection is false: the cache of a replica that waits to become the leader is
// warm when it does.
func (c *Cache) NeedLeaderElection() bool { return false }

// isStarted reports whether Start was called.
func (c *Cache) isStarted() bool {
	select {
	case <-c.started:
		return true
	default:
		return false
	}
}

// WaitForCacheSync waits until the cache is started and the informers that it has then
// are synced. It returns false if ctx ends before, or the cache stops. An informer that
// is removed meanwhile is not waited for.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.started:
	case <-ctx.Done():
		if !c.isStarted() { // both may have been the case
			return false
		}
	}
	for key, k := range *c.kinds.Load() {
		if k.waitForSync(ctx) != nil && (*c.kinds.Load())[key] == k {
			return false
		}
	}
	return true
}

// GetInformer returns the informer of the kind of obj, in the form of obj: typed,
// unstructured or metadata. It is made if there is none. Once the cache is started, it
// waits until the informer is synced, unless an option says otherwise.
func (c *Cache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	key, err := c.keyOf(obj)
	if err != nil {
		return nil, err
	}
	return c.getInformer(ctx, key, opts)
}

// GetInformerForKind is GetInformer of the Go type that the scheme has for a kind.
func (c *Cache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	obj, err := c.opts.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return c.getInformer(ctx, kindKey{gvk, formOf(obj)}, opts)
}

func (c *Cache) getInformer(ctx context.Context, key kindKey, opts []cache.InformerGetOption) (cache.Informer, error) {
	var options cache.InformerGetOptions
	for _, opt := range opts {
		opt(&options)
	}
	_, known := (*c.kinds.Load())[key]
	k, err := c.get(key)
	if err != nil {
		return nil, err
	}
	if ptr.Deref(options.BlockUntilSynced, true) && c.isStarted() {
		if err := k.waitFor(ctx, known); err != nil {
			return nil, err
		}
	}
	return k.informer, nil
}

// RemoveInformer stops the informer of the kind and form of obj, and forgets it with its
// handlers and indexes. It does not wait for handlers. If there is none, it does nothing.
func (c *Cache) RemoveInformer(_ context.Context, obj client.Object) error {
	key, err := c.keyOf(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds := maps.Clone(*c.kinds.Load())
	if k, ok := kinds[key]; ok {
		delete(kinds, key)
		c.kinds.Store(&kinds)
		k.cancel()
	}
	return nil
}

// keyOf returns what identifies the cache of an object, or of the objects of a list.
func (c *Cache) keyOf(obj runtime.Object) (kindKey, error) {
	if isNilPointer(obj) {
		return kindKey{}, errors.New("controllerruntime: the object is nil; pass a pointer to an empty one, such as &corev1.Pod{}")
	}
	gvk, err := apiutil.GVKForObject(obj, c.opts.Scheme)
	if err != nil {
		return kindKey{}, err
	}
	if _, isList := obj.(client.ObjectList); isList {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	return kindKey{gvk, formOf(obj)}, nil
}

// get returns the cache of a kind. It makes one, which runs if the cache does, if there
// is none.
func (c *Cache) get(key kindKey) (*kind, error) {
	if k, ok := (*c.kinds.Load())[key]; ok {
		return k, nil
	}
	// Without the lock, as the mapper may have to ask the server. Of two that are made at
	// once, one is dropped.
	k, err := c.newKind(key)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds := maps.Clone(*c.kinds.Load())
	if first, ok := kinds[key]; ok {
		k.cancel()
		return first, nil
	}
	if c.stopped {
		k.cancel()
		return nil, fmt.Errorf("controllerruntime: %v is not cached, and the cache has stopped: %w", key.GroupVersionKind, informer.ErrStopped)
	}
	kinds[key] = k
	c.kinds.Store(&kinds)
	if c.begun {
		c.launchLocked(k)
	}
	return k, nil
}

// waitFor waits until a kind is synced. The error is a timeout, as it is in
// controller-runtime, that says why. What the call itself has made is refused for a
// context that has ended: it may be synced by now, or not, and that is not to decide.
func (k *kind) waitFor(ctx context.Context, known bool) error {
	err := context.Cause(ctx)
	if known || err == nil {
		err = k.waitForSync(ctx)
	}
	if err == nil {
		return nil
	}
	return apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for %s Informer to sync: %v", k.typ, err), 0)
}

// parts returns all informers, in the order of their names.
func (c *Cache) parts() []*part {
	var all []*part
	for _, k := range *c.kinds.Load() {
		all = append(all, k.ordered...)
	}
	slices.SortFunc(all, func(a, b *part) int { return strings.Compare(a.informer.Name(), b.informer.Name()) })
	return all
}

// Health returns the state of all informers, in the order of their names.
func (c *Cache) Health() []informer.Health {
	var all []informer.Health
	for _, p := range c.parts() {
		all = append(all, p.informer.Health())
	}
	return all
}
