package sharding

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

type pod = corev1.Pod

// cluster is a collection of pods with a history, to be listed and watched
// without HTTP. It keeps every object that it ever had.
type cluster struct {
	mu      sync.Mutex
	rv      int
	uid     int
	objs    map[types.NamespacedName]*pod
	history []reflector.WatchEvent[*pod]
	start   int // the position of history[0]; older ones are compacted away
	changed chan struct{}
	cut     chan struct{} // closed to end the watches
	listErr error
	gate    bool // whether shard selectors are honoured
	lists   int
	// unreadable are the objects that cannot be decoded, in lists and events.
	unreadable map[types.NamespacedName]bool
}

// newCluster returns a cluster of pods that were there before its history.
func newCluster(pods ...*pod) *cluster {
	c := &cluster{rv: 100, start: 100, objs: map[types.NamespacedName]*pod{}, unreadable: map[types.NamespacedName]bool{}, changed: make(chan struct{})}
	for _, p := range pods {
		c.objs[object.KeyOf(p)] = p
	}
	return c
}

// enter must be called in the synctest bubble that is going to use the cluster.
func (c *cluster) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed, c.cut = make(chan struct{}), make(chan struct{})
}

// write records a state. It is called with mu held.
func (c *cluster) write(typ watch.EventType, p *pod) *pod {
	c.rv++
	p = p.DeepCopy()
	p.ResourceVersion = strconv.Itoa(c.rv)
	if typ == watch.Deleted {
		delete(c.objs, object.KeyOf(p))
	} else {
		c.objs[object.KeyOf(p)] = p
	}
	c.history = append(c.history, reflector.WatchEvent[*pod]{Type: typ, Object: p, ResourceVersion: p.ResourceVersion})
	close(c.changed)
	c.changed = make(chan struct{})
	return p
}

// uidOf returns the n-th UID. Like real ones they are random: the hashes of texts that
// differ at the end only are close to each other.
func uidOf(n int) types.UID { return types.UID(scatter("uid", n)) }

// scatter returns a text for each n, all different from the beginning.
func scatter(prefix string, n int) string {
	return prefix + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.Itoa(n))))[:20]
}

// set creates or updates the pod ns/name, with a label that says n.
func (c *cluster) set(ns, name string, n int) *pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.objs[types.NamespacedName{Namespace: ns, Name: name}]
	p := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"n": strconv.Itoa(n)}}}
	if ok {
		p.UID, p.OwnerReferences = old.UID, old.OwnerReferences
		return c.write(watch.Modified, p)
	}
	c.uid++
	p.UID = uidOf(c.uid)
	return c.write(watch.Added, p)
}

// own makes the object with that UID the controlling owner of a pod, which must exist.
func (c *cluster) own(ns, name string, owner types.UID) *pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.objs[types.NamespacedName{Namespace: ns, Name: name}].DeepCopy()
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: &yes}}
	return c.write(watch.Modified, p)
}

// remove deletes the pod ns/name; it returns nil if there is none.
func (c *cluster) remove(ns, name string) *pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.objs[types.NamespacedName{Namespace: ns, Name: name}]
	if !ok {
		return nil
	}
	return c.write(watch.Deleted, old)
}

// disconnect ends all watches; if compact is true they cannot be resumed.
func (c *cluster) disconnect(compact bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if compact {
		c.rv++
		c.history, c.start = nil, c.rv
	}
	close(c.cut)
	c.cut = make(chan struct{})
}

// fail makes lists and new watches fail with err until it is nil again.
func (c *cluster) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listErr = err
}

// unreadableError returns why p cannot be read, or nil. It is called with mu held.
func (c *cluster) unreadableError(p *pod) error {
	key := object.KeyOf(p)
	if !c.unreadable[key] {
		return nil
	}
	return &reflector.ObjectError{Key: key, ResourceVersion: p.ResourceVersion, Class: reflector.ClassDecode, Err: errors.New("unreadable")}
}

// exists reports whether there is an object of that UID.
func (c *cluster) exists(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.objs {
		if p.UID == uid {
			return true
		}
	}
	return false
}

// source reads one namespace, or all.
type clusterSource struct {
	*cluster
	namespace string
}

func (c *cluster) source() reflector.ListerWatcher[*pod] { return &clusterSource{c, ""} }

func (c *clusterSource) in(p *pod) bool { return c.namespace == "" || p.Namespace == c.namespace }

func (c *clusterSource) List(_ context.Context, req reflector.Request, each func(reflector.WatchEvent[*pod]) error) (metav1.ListMeta, error) {
	c.mu.Lock()
	c.lists++
	err, rv := c.listErr, c.rv
	var objs []*pod
	var errs []error
	selects := c.selector(req.ListOptions)
	for _, p := range c.objs {
		if c.in(p) && selects(p) {
			objs, errs = append(objs, p), append(errs, c.unreadableError(p))
		}
	}
	c.mu.Unlock()
	if err != nil {
		return metav1.ListMeta{}, err
	}
	for i, p := range objs {
		p = p.DeepCopy()
		if errs[i] != nil {
			p = nil
		}
		if err := each(reflector.WatchEvent[*pod]{Type: watch.Added, Object: p, Err: errs[i]}); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(rv)}, nil
}

func (c *clusterSource) Watch(ctx context.Context, req reflector.Request) (reflector.Stream[*pod], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from, _ := strconv.Atoi(req.ListOptions.ResourceVersion)
	switch {
	case c.listErr != nil:
		return nil, c.listErr
	case from < c.start:
		return nil, apierrors.NewResourceExpired("too old")
	}
	ctx, cancel := context.WithCancel(ctx)
	return &clusterStream{c: c, ctx: ctx, cancel: cancel, at: from, cut: c.cut, selects: c.selector(req.ListOptions)}, nil
}

type clusterStream struct {
	c      *clusterSource
	ctx    context.Context
	cancel context.CancelFunc
	at     int
	cut    chan struct{}

	selects func(*pod) bool
}

func (s *clusterStream) Next() (reflector.WatchEvent[*pod], error) {
	for {
		s.c.mu.Lock()
		changed := s.c.changed
		if s.at < s.c.start {
			s.c.mu.Unlock()
			return reflector.WatchEvent[*pod]{}, apierrors.NewResourceExpired("too old")
		}
		for s.at < s.c.rv {
			e := s.c.history[s.at-s.c.start]
			s.at++
			if s.c.in(e.Object) && s.selects(e.Object) {
				e.Err = s.c.unreadableError(e.Object)
				s.c.mu.Unlock()
				e.Object = e.Object.DeepCopy()
				if e.Err != nil {
					e.Object = nil
				}
				return e, nil
			}
		}
		s.c.mu.Unlock()
		select {
		case <-changed:
		case <-s.cut:
			return reflector.WatchEvent[*pod]{}, io.EOF
		case <-s.ctx.Done():
			return reflector.WatchEvent[*pod]{}, s.ctx.Err()
		}
	}
}

func (s *clusterStream) Close() error { s.cancel(); return nil }
