package differential

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/deltafifo"
)

// fifoStep is one operation on both queues. Names is what it concerns: one
// object, or those of a list.
type fifoStep struct {
	do    string
	names string
}

func (s fifoStep) String() string { return strings.TrimSpace(s.do + " " + s.names) }

// fifoSteps makes 60 steps.
func fifoSteps(seed uint64) []fifoStep {
	r := random(seed)
	name := func() string { return string(rune('a' + r.IntN(6))) }
	verbs := []string{"add", "add", "update", "update", "delete", "delete", "replace", "resync", "pop", "pop", "pop"}
	steps := make([]fifoStep, 60)
	for i := range steps {
		steps[i].do = verbs[r.IntN(len(verbs))]
		switch steps[i].do {
		case "pop", "resync":
		case "replace":
			for range r.IntN(4) {
				steps[i].names += name()
			}
		default:
			steps[i].names = name()
		}
	}
	return steps
}

// podStore is what both queues know: the result of all pops so far.
type podStore map[string]*corev1.Pod

func (s podStore) ListKeys() []string {
	var keys []string
	for k := range s {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s podStore) GetByKey(key string) (any, bool, error) {
	p, ok := s[key]
	if !ok {
		return nil, false, nil
	}
	return p, true, nil
}

func (s podStore) Get(key types.NamespacedName) (*corev1.Pod, bool) {
	p, ok := s[key.String()]
	return p, ok
}

func (s podStore) All() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, k := range s.ListKeys() {
			if !yield(s[k]) {
				return
			}
		}
	}
}

// fifoPair is the two queues and their store.
type fifoPair struct {
	store   podStore
	ours    *deltafifo.DeltaFIFO[*corev1.Pod]
	theirs  *cache.DeltaFIFO
	version int
	begun   string // the first change
	listed  bool
	pops    int
	initial int // the pops after which ours is to be synced
}

func newFIFOPair(knowsStore bool) *fifoPair {
	p := &fifoPair{store: podStore{}}
	opts := deltafifo.Options[*corev1.Pod]{Limit: -1}
	theirs := cache.DeltaFIFOOptions{EmitDeltaTypeReplaced: true}
	if knowsStore {
		opts.KnownObjects, theirs.KnownObjects = p.store, p.store
	}
	p.ours, p.theirs = deltafifo.New(opts), cache.NewDeltaFIFOWithOptions(theirs)
	return p
}

// pod returns the next version of a pod.
func (p *fifoPair) pod(name rune) *corev1.Pod {
	p.version++
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: string(name), ResourceVersion: fmt.Sprint(p.version)}}
}

// step does the same to both queues.
func (p *fifoPair) step(t *testing.T, s fifoStep) error {
	if s.do == "pop" {
		return p.pop(t)
	}
	var pods []*corev1.Pod
	var anys []any
	for _, name := range s.names {
		pod := p.pod(name)
		pods, anys = append(pods, pod), append(anys, pod)
	}
	ctx := t.Context()
	switch s.do {
	case "add":
		return errors.Join(p.ours.Add(ctx, pods[0]), p.theirs.Add(pods[0]))
	case "update":
		return errors.Join(p.ours.Update(ctx, pods[0]), p.theirs.Update(pods[0]))
	case "delete":
		return errors.Join(p.ours.Delete(ctx, pods[0]), p.theirs.Delete(pods[0]))
	case "replace":
		return errors.Join(p.ours.Replace(ctx, pods, "x"), p.theirs.Replace(anys, "x"))
	default:
		return errors.Join(p.ours.Resync(ctx), p.theirs.Resync())
	}
}

// pop pops all of ours and as many objects of theirs, compares, and stores the result.
func (p *fifoPair) pop(t *testing.T) error {
	if p.ours.Len() == 0 {
		return nil // client-go's does not report its length: see drain
	}
	p.pops++
	return p.ours.Pop(t.Context(), func(batch deltafifo.Batch[*corev1.Pod]) error {
		for _, deltas := range batch.ByObject() {
			if err := p.popTheirs(printOurs(deltas)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *fifoPair) popTheirs(ours string) error {
	var theirs string
	_, err := p.theirs.Pop(func(obj any, _ bool) error {
		deltas := obj.(cache.Deltas)
		theirs = printTheirs(deltas)
		for _, d := range deltas {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(d.Object)
			if err != nil {
				return err
			}
			if d.Type == cache.Deleted {
				delete(p.store, key)
			} else {
				p.store[key] = d.Object.(*corev1.Pod)
			}
		}
		return nil
	})
	if err == nil && ours != theirs {
		err = fmt.Errorf("popped\n\tours:   %s\n\ttheirs: %s", ours, theirs)
	}
	return err
}

// note keeps track of what the initial state is: the first change or, if it comes
// before that was popped, the first list.
func (p *fifoPair) note(s fifoStep) {
	if s.do == "pop" || s.do == "resync" {
		return
	}
	if p.begun == "" || s.do == "replace" && !p.listed && !p.ours.HasSynced() {
		p.initial = p.pops + 1 // which takes everything
	}
	p.listed = p.listed || s.do == "replace"
	if p.begun == "" {
		p.begun = s.String()
	}
}

// compareSync compares HasSynced of both.
func (p *fifoPair) compareSync(met *tally) error {
	ours, theirs := p.ours.HasSynced(), p.theirs.HasSynced()
	if ours == theirs {
		return nil
	}
	// Only this way round, only if a write or an empty list came first, and only until it
	// has been popped.
	if ours || strings.HasPrefix(p.begun, "replace ") || p.pops >= p.initial {
		return fmt.Errorf("synced: ours %v, theirs %v", ours, theirs)
	}
	met.add(syncedByAWrite, 1)
	return nil
}

// drain pops all there is, and sees that client-go's queue is empty too.
func (p *fifoPair) drain(t *testing.T) error {
	for p.ours.Len() > 0 {
		if err := p.pop(t); err != nil {
			return err
		}
	}
	p.ours.Close()
	p.theirs.Close()
	_, err := p.theirs.Pop(func(obj any, _ bool) error { return fmt.Errorf("only theirs has %v", obj) })
	if !errors.Is(err, cache.ErrFIFOClosed) {
		return err
	}
	return nil
}

func runFIFO(met *tally) func(t *testing.T, seed uint64, steps []fifoStep) error {
	return func(t *testing.T, seed uint64, steps []fifoStep) error {
		p := newFIFOPair(seed%4 != 0)
		for i, s := range steps {
			err := p.step(t, s)
			p.note(s)
			if err == nil {
				err = p.compareSync(met)
			}
			if err != nil {
				return fmt.Errorf("step %d, %v: %w", i+1, s, err)
			}
		}
		return p.drain(t)
	}
}

func TestDeltaFIFOHandsOverWhatClientGoDoes(t *testing.T) {
	t.Parallel()
	met := &tally{}
	t.Cleanup(func() { met.require(t, syncedByAWrite) })
	kind[fifoStep]{few: 500, generate: fifoSteps, run: runFIFO(met)}.check(t)
}

func TestF2WriteAfterClose(t *testing.T) {
	t.Parallel()
	p := newFIFOPair(false)
	p.ours.Close()
	p.theirs.Close()
	require.NoError(t, p.theirs.Add(p.pod('a')))
	assert.ErrorIs(t, p.ours.Add(t.Context(), p.pod('a')), deltafifo.ErrClosed)
}

// printOurs and printTheirs print the deltas of one key in the same form.
func printOurs(deltas deltafifo.Deltas[*corev1.Pod]) string {
	var all []string
	for _, d := range deltas {
		all = append(all, printDelta(d.Type.String(), d.Key().String(), d.Object, d.FinalStateUnknown))
	}
	return strings.Join(all, ", ")
}

func printTheirs(deltas cache.Deltas) string {
	var all []string
	for _, d := range deltas {
		tombstone, unseen := d.Object.(cache.DeletedFinalStateUnknown)
		obj := d.Object
		if unseen {
			obj = tombstone.Obj
		}
		pod, _ := obj.(*corev1.Pod)
		key := tombstone.Key
		if !unseen {
			key = pod.Namespace + "/" + pod.Name
		}
		all = append(all, printDelta(string(d.Type), key, pod, unseen))
	}
	return strings.Join(all, ", ")
}

func printDelta(typ, key string, pod *corev1.Pod, unseen bool) string {
	version := "none"
	if pod != nil {
		version = pod.ResourceVersion
	}
	return fmt.Sprintf("%s %s@%s unseen=%v", typ, key, version, unseen)
}
