package sharding

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// Three replicas share 600 objects; one is killed, two come, and one leaves, while
// objects change: none is processed by two at once, none is missed, and as long as
// nobody is killed no object is in two caches, not even while it moves.
//
// A cache is checked each 20 ms of virtual time.
//
// Promise informer/sharding/9
func TestPromise9RangesShareObjectsWhileReplicasComeAndGo(t *testing.T) {
	const objects = 600
	inRanges(t, objects, 16, func(t *testing.T, w *rangedWorld) {
		want := map[string]string{}
		for i := range objects {
			want[fmt.Sprint("object-", i)] = "0"
		}
		version := 0
		// churn changes objects for a time, and looks into the caches.
		churn := func(d time.Duration, apart bool) {
			for end := time.Now().Add(d); time.Now().Before(end); {
				version++
				name := fmt.Sprint("object-", version*7919%objects)
				want[name] = fmt.Sprint(version)
				w.change(name, want[name])
				time.Sleep(20 * time.Millisecond)
				if !apart {
					continue
				}
				synctest.Wait() // or a range moves between two looks of one moment
				in := map[types.UID]string{}
				for _, r := range w.live() {
					for uid := range r.objects() {
						if other := in[uid]; other != "" {
							require.Fail(t, "an object is in two caches", "%s and %s", other, r.name)
						}
						in[uid] = r.name
					}
				}
			}
		}
		for range 3 {
			w.prepare().run()
			churn(3*time.Second, true)
		}
		pass(10 * time.Second)
		w.requireShared(objects)
		w.all[0].dead.Store(true)
		churn(5*time.Second, false)
		for range 2 {
			w.prepare().run()
			churn(3*time.Second, false)
		}
		pass(time.Minute)
		w.requireShared(objects)
		leaving := w.all[1]
		leaving.stop()
		leaving.stop = nil
		churn(3*time.Second, true)
		require.NoError(t, <-leaving.ended)
		assert.Empty(t, leaving.objects())
		pass(15 * time.Second)
		w.requireShared(objects)
		assert.Equal(t, want, w.done, "the version of each object, and the one that was processed last")
	})
}

// Nothing of a part is handed out before its range is in the cache, whatever is added.
//
// Promise informer/sharding/8
func TestPromise8KeyIsNotHandedOutBeforeItsRangeIsListed(t *testing.T) {
	inRanges(t, 20, 1, func(t *testing.T, w *rangedWorld) {
		r := w.prepare()
		listed := make(chan struct{})
		r.reader.wait = func(ctx context.Context) error {
			select {
			case <-listed:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		key := Key{NamespacedName: types.NamespacedName{Namespace: "default", Name: "object-7"}}
		r.ranges.Add(key)
		assert.Zero(t, r.waiting(), "a key of a part that is not held is not kept")
		r.run()
		pass(5 * time.Second)
		require.Len(t, r.ranges.Replica().Health().Held, 1)
		r.ranges.Add(key)
		pass(time.Second)
		assert.Equal(t, 1, r.waiting(), "it waits")
		assert.Zero(t, r.calls.Load())
		close(listed)
		pass(time.Second)
		assert.EqualValues(t, 20, r.calls.Load(), "each once, also the one that was added")
	})
}

// In a hand-over the objects have left the one cache before the other one lists them.
//
// Promise informer/sharding/10
func TestPromise10ObjectsOfAPartLeaveTheCacheBeforeItIsFree(t *testing.T) {
	inRanges(t, 50, 1, func(t *testing.T, w *rangedWorld) {
		first := w.start()
		require.Len(t, first.objects(), 50)
		second := w.prepare()
		listed := false
		second.reader.wait = func(context.Context) error {
			listed = true
			assert.Empty(t, first.objects(), "as soon as another replica has the part")
			return nil
		}
		second.run()
		pass(time.Second)
		first.leave()
		pass(5 * time.Second)
		assert.True(t, listed)
		assert.Len(t, second.objects(), 50)
	})
}

// A hand-over that comes while the range is listed does not wait for the list.
func TestPartIsHandedOverBeforeItIsListed(t *testing.T) {
	inRanges(t, 20, 1, func(t *testing.T, w *rangedWorld) {
		r := w.prepare()
		r.reader.wait = func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		r.run()
		pass(5 * time.Second)
		began := time.Now()
		r.leave()
		assert.Less(t, time.Since(began), time.Second)
		assert.Zero(t, r.calls.Load())
		assert.Empty(t, r.objects())
		assert.NotContains(t, w.logs.String(), "Work failed")
	})
}

// A hand-over waits for the key in progress, which still finds its object, and leaves
// nothing: what was delayed, parked, or added meanwhile is the business of the
// next owner, which processes each key in its last version.
//
// Promise informer/sharding/9
func TestPromise9HandOverLeavesNothingAndLosesNothing(t *testing.T) {
	inRanges(t, 20, 1, func(t *testing.T, w *rangedWorld) {
		first := w.prepare()
		begun, finish := make(chan struct{}), make(chan struct{})
		var found atomic.Bool
		first.do = func(_ context.Context, _ *Part, key types.NamespacedName) (workqueue.Result, error) {
			switch key.Name {
			case "object-1":
				close(begun)
				<-finish
				_, exists := first.inf.Snapshot().Get(key)
				found.Store(exists)
				return workqueue.Result{RequeueAfter: time.Second}, nil
			case "object-2":
				return workqueue.Result{RequeueAfter: time.Hour}, nil
			case "object-3":
				return workqueue.Result{Until: workqueue.ConditionFunc(func(func()) func() { return func() {} })}, nil
			case "object-4":
				return workqueue.Result{}, errors.New("not now")
			}
			return workqueue.Result{}, nil
		}
		first.run()
		<-begun
		pass(time.Second)
		first.stop()
		second := w.start()
		assert.Empty(t, second.ranges.Replica().Health().Held, "as long as a key is in progress")
		w.change("object-5", "while it moves")
		calls := first.calls.Load()
		pass(time.Second)
		assert.Equal(t, calls, first.calls.Load(), "nothing is handed out")
		assert.Positive(t, first.waiting())
		close(finish)
		pass(15 * time.Second)
		require.NoError(t, <-first.ended)
		first.stop = nil
		assert.True(t, found.Load(), "a key in progress finds its object")
		stats := first.ranges.Queue().Stats()
		assert.Zero(t, first.waiting())
		assert.Zero(t, stats.Queued+stats.Delayed+stats.Parked+stats.Running, "%+v", stats)
		assert.Zero(t, stats.ShutdownLosses, "dropped with the part, and not by the end of the queue")
		assert.Empty(t, first.objects())
		assert.Len(t, w.done, 20)
		assert.Equal(t, calls, first.calls.Load(), "nothing is handed out after the key in progress either")
		assert.EqualValues(t, 20, second.calls.Load(), "the next owner processes each key")
		assert.Equal(t, "while it moves", w.version("object-5"))
		first.ranges.Add(Key{})
		assert.Zero(t, first.waiting())
	})
}

// A replica that loses its session cancels what is in progress, hands out nothing more,
// and has nothing of the part in its cache. When it is back, it processes all keys.
//
// Promise informer/sharding/8
func TestPromise8LostPartIsDroppedAndProcessedAgain(t *testing.T) {
	inRanges(t, 20, 1, func(t *testing.T, w *rangedWorld) {
		r := w.prepare()
		var cause error
		begun := make(chan struct{})
		r.do = func(ctx context.Context, part *Part, key types.NamespacedName) (workqueue.Result, error) {
			if key.Name == "object-1" && part.Transitions == 1 {
				close(begun)
				<-ctx.Done()
				cause = context.Cause(ctx)
				return workqueue.Result{}, errors.New("cancelled in the middle")
			}
			return workqueue.Result{}, nil
		}
		r.run()
		<-begun
		pass(2 * time.Second)
		r.dead.Store(true)
		pass(20 * time.Second)
		require.ErrorIs(t, cause, ErrLost)
		assert.Empty(t, r.objects())
		calls := r.calls.Load()
		r.ranges.Add(Key{NamespacedName: types.NamespacedName{Namespace: "default", Name: "object-2"}})
		pass(time.Second)
		assert.Equal(t, calls, r.calls.Load())
		assert.Zero(t, r.waiting(), "a key of a part that is lost is not kept")
		r.dead.Store(false)
		pass(time.Minute)
		assert.Equal(t, calls+20, r.calls.Load(), "all once more")
		assert.NotContains(t, w.logs.String(), "cancelled in the middle", "not a failure")
	})
}

// A key that is being added while its part is given up leaves with it, and none comes later.
//
// Promise informer/sharding/8
func TestPromise8KeyThatIsBeingAddedLeavesWithItsPart(t *testing.T) {
	inRanges(t, 20, 1, func(t *testing.T, w *rangedWorld) {
		r := w.start()
		key := Key{NamespacedName: types.NamespacedName{Namespace: "default", Name: "object-2"}}
		require.True(t, r.ranges.holds(key), "and so Add goes on to add it")
		calls := r.calls.Load()
		r.dead.Store(true) // the part is lost
		pass(20 * time.Second)
		require.False(t, r.ranges.holds(key))
		r.ranges.queue.Add(key) // which takes place now
		r.ranges.Add(key)
		pass(time.Second)
		assert.Equal(t, calls, r.calls.Load())
		assert.Zero(t, r.waiting())
		assert.Zero(t, r.ranges.Queue().Stats().Queued)
		r.dead.Store(false)
		pass(time.Minute)
		assert.Equal(t, calls+20, r.calls.Load(), "all once more")
	})
}

// A process that was paused finds out with the next key, before anything else has.
//
// Promise informer/sharding/8
func TestPromise8PausedReplicaHandsOutNothing(t *testing.T) {
	inRanges(t, 20, 1, func(t *testing.T, w *rangedWorld) {
		r := w.start()
		require.EqualValues(t, 20, r.calls.Load())
		r.ranges.gates[0].held().deadline.end() // as it is after a pause
		w.change("object-3", "1")
		time.Sleep(time.Millisecond) // not for the loop of the replica to see it
		assert.EqualValues(t, 20, r.calls.Load())
		assert.Equal(t, "0", w.version("object-3"))
		pass(time.Minute)
		assert.Equal(t, "1", w.version("object-3"))
	})
}

// A handler that is so late that a range has gone and come back unchanged gets no
// event for its objects; they are processed all the same.
//
// Promise informer/sharding/9
func TestPromise9KeysOfARangeThatCameBackDoNotDependOnEvents(t *testing.T) {
	inRanges(t, 200, 2, func(t *testing.T, w *rangedWorld) {
		r := w.prepare()
		r.ranges.handler.Remove() // one that is too late sooner
		var err error
		handler := &stoppedHandler{Handler: enqueueChanges[*corev1.ConfigMap](r.ranges)}
		r.ranges.handler, err = r.inf.AddHandler(handler, informer.HandlerOptions{Bound: 16})
		require.NoError(t, err)
		r.run()
		pass(15 * time.Second)
		w.mu.Lock()
		require.Len(t, w.done, 200) // some are processed twice if the handler was late already
		w.mu.Unlock()
		// Another replica has one of the parts while the handler is in the middle of a call.
		other := w.prepare().run()
		pass(15 * time.Second)
		moved := other.objects()
		require.NotEmpty(t, moved)
		var stay []string
		for o := range r.inf.Snapshot().All() {
			stay = append(stay, o.Name)
		}
		require.Len(t, stay, 200-len(moved))
		gate := make(chan struct{})
		handler.stopped.Store(&gate)
		w.change(stay[0], "first")
		synctest.Wait()
		require.Nil(t, handler.stopped.Load(), "the handler is in the middle of a call")
		for i := range 2000 { // past the bound of the handler
			w.change(stay[i%len(stay)], fmt.Sprint(i))
		}
		synctest.Wait()
		w.mu.Lock()
		for name := range w.done {
			if !slices.Contains(stay, name) {
				delete(w.done, name)
			}
		}
		w.mu.Unlock()
		other.leave()
		time.Sleep(10 * time.Second)
		close(gate)
		pass(10 * time.Second)
		assert.Positive(t, r.inf.Health().Handlers[0].Overflows, "it was too late for each event")
		assert.Len(t, r.objects(), 200)
		w.mu.Lock()
		defer w.mu.Unlock()
		assert.Len(t, w.done, 200)
	})
}

// Parts that are listed while the cache is gone through for another one share the next pass.
//
// Promise informer/sharding/9
func TestPromise9KeysOfPartsThatAreTakenTogetherAreAllQueued(t *testing.T) {
	inRanges(t, 0, 3, func(t *testing.T, w *rangedWorld) {
		r := w.prepare().ranges
		begun, goOn, passes := make(chan struct{}), make(chan struct{}), 0
		r.keys = func() iter.Seq[Key] {
			return func(yield func(Key) bool) {
				if passes++; passes == 1 {
					close(begun)
					<-goOn
				}
				for part := range 3 {
					if !yield(Key{types.NamespacedName{Name: fmt.Sprint(part)}, part}) {
						return
					}
				}
			}
		}
		var fills sync.WaitGroup
		for part := range 3 {
			r.gates[part].hold(&Part{})
			fills.Go(func() { r.fill(part) })
			if part == 0 {
				<-begun
			}
		}
		for waiting := 0; waiting < 2; runtime.Gosched() {
			r.fills.mu.Lock()
			waiting = len(r.fills.waiting)
			r.fills.mu.Unlock()
		}
		close(goOn)
		fills.Wait()
		assert.Equal(t, 2, passes)
		for part := range 3 {
			assert.Len(t, r.gates[part].remembered, 1)
		}
	})
}

// What changes while a watch is broken, and the history of the server is gone, is in the
// next list, and its keys are processed.
//
// Promise informer/sharding/9
func TestPromise9ChangesThatOnlyAListShowsAreProcessed(t *testing.T) {
	inRanges(t, 20, 4, func(t *testing.T, w *rangedWorld) {
		r := w.start()
		r.dead.Store(true)
		w.server.BreakConnections()
		w.change("object-3", "1")
		w.create("new")
		w.server.Compact()
		r.dead.Store(false)
		pass(5 * time.Second)
		assert.Zero(t, r.ranges.Replica().Health().Lost, "no part was taken again")
		assert.Equal(t, "1", w.version("object-3"))
		assert.Equal(t, "0", w.version("new"))
	})
}

// An object that is made under the name of one that is gone is in another part: the key of
// the first is not processed with it, and the two are never in progress at once.
func TestNameThatChangesItsPartIsProcessedOnceAtATime(t *testing.T) {
	inRanges(t, 0, 8, func(t *testing.T, w *rangedWorld) {
		r := w.prepare()
		var inProgress, most, calls atomic.Int64
		r.do = func(context.Context, *Part, types.NamespacedName) (workqueue.Result, error) {
			calls.Add(1)
			most.Store(max(most.Load(), inProgress.Add(1)))
			defer inProgress.Add(-1)
			time.Sleep(50 * time.Millisecond)
			return workqueue.Result{}, nil
		}
		r.run()
		pass(5 * time.Second)
		for range 50 {
			w.create("one")
			time.Sleep(7 * time.Millisecond)
			require.NoError(t, w.server.Delete(rangedResource, "default", "one"))
			time.Sleep(3 * time.Millisecond)
		}
		w.create("one")
		pass(time.Second)
		assert.EqualValues(t, 1, most.Load())
		assert.Positive(t, calls.Load())
		key := types.NamespacedName{Namespace: "default", Name: "one"}
		object, exists := r.inf.Snapshot().Get(key)
		require.True(t, exists)
		before := calls.Load()
		r.ranges.Add(Key{key, (r.ranges.KeyOf(object).Part + 1) % 8})
		pass(time.Second)
		assert.Equal(t, before, calls.Load(), "the key of an object that is gone")
	})
}

// What belongs to a shared object leads to its key, in the replica that has it.
func TestEnqueueOwnerAddsTheKeyOfTheOwner(t *testing.T) {
	inRanges(t, 10, 4, func(t *testing.T, w *rangedWorld) {
		r := w.start()
		owner := slices.Collect(r.inf.Snapshot().All())[3]
		controller := true
		owned := func(kind string, controls *bool) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod", OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: kind, Name: owner.Name, UID: owner.UID, Controller: controls},
			}}}
		}
		configMap := informer.Owner{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap")}
		h := EnqueueOwner[*corev1.Pod](r.ranges, configMap)
		for _, test := range []struct {
			pod  *corev1.Pod
			want int64
		}{{owned("ConfigMap", &controller), 1}, {owned("ConfigMap", nil), 0}, {owned("Secret", &controller), 0}} {
			before := r.calls.Load()
			h.OnEvent(informer.Event[*corev1.Pod]{Type: informer.Added, New: test.pod, Origin: informer.Watch})
			pass(time.Second)
			assert.Equal(t, test.want, r.calls.Load()-before)
		}
		_, err := r.inf.AddHandler(EnqueueOwner[*corev1.ConfigMap](r.ranges, informer.Owner{}))
		require.ErrorContains(t, err, "Owner.Kind is empty")
	})
}

func TestHashIsInThePartOfItsRange(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 64, 100, 4096} {
		r := &Ranges{ranges: SplitHashes(n)}
		for i, one := range r.ranges {
			require.Equal(t, i, r.partOfHash(one.First), "%d of %d", i, n)
			require.Equal(t, i, r.partOfHash(one.Last), "%d of %d", i, n)
		}
		for range 1000 {
			hash := rnd.Uint64N(math.MaxUint64)
			require.True(t, r.ranges[r.partOfHash(hash)].Contains(hash), "%x of %d", hash, n)
		}
	}
}

func TestRangesOptionsAreChecked(t *testing.T) {
	t.Parallel()
	cfg := &rest.Config{Host: "http://127.0.0.1:1"}
	source, err := reflector.NewResource[*corev1.ConfigMap](cfg, rangedResource, reflector.ResourceOptions{})
	require.NoError(t, err)
	inf, err := NewRanged(source, HashUID, informer.Options[*corev1.ConfigMap]{})
	require.NoError(t, err)
	factory, err := NewFactory(cfg, informer.FactoryOptions{})
	require.NoError(t, err)
	shared, err := For(factory, HashUID, informer.ForOptions[*corev1.ConfigMap]{Resource: rangedResource})
	require.NoError(t, err)
	tests := map[string]func(o *RangesOptions[*corev1.ConfigMap]){
		"Objects is nil":     func(o *RangesOptions[*corev1.ConfigMap]) { o.Objects = nil },
		"Objects is nil; ":   func(o *RangesOptions[*corev1.ConfigMap]) { o.Objects = (*Ranged[*corev1.ConfigMap])(nil) },
		"Work is set":        func(o *RangesOptions[*corev1.ConfigMap]) { o.Work = func(context.Context, *Part) error { return nil } },
		"Reader is nil":      func(o *RangesOptions[*corev1.ConfigMap]) { o.Objects = shared },
		"Options.Parts is -": func(o *RangesOptions[*corev1.ConfigMap]) { o.Parts = -1 },
	}
	for _, says := range slices.Sorted(maps.Keys(tests)) {
		o := RangesOptions[*corev1.ConfigMap]{Options: Options{Name: "group", Namespace: "default"}, Objects: inf}
		tests[says](&o)
		_, err := NewRanges(cfg, o)
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err = NewRanges(cfg, RangesOptions[*corev1.ConfigMap]{Options: Options{Name: "group", Namespace: "default"}, Objects: shared, Reader: factory})
	require.NoError(t, err)
}

func TestRangesRunOnceAndEndWithTheirWorkers(t *testing.T) {
	inRanges(t, 5, 2, func(t *testing.T, w *rangedWorld) {
		r := w.start()
		require.ErrorContains(t, r.ranges.Run(t.Context(), workqueue.ProcessOptions[Key]{}, r.process), "run once")
		require.ErrorContains(t, r.ranges.Run(t.Context(), workqueue.ProcessOptions[Key]{}, nil), "the function is nil")
		r.leave()
		// Wrong options end Run, and the parts are free.
		wrong := w.prepare()
		require.ErrorContains(t, wrong.ranges.Run(t.Context(), workqueue.ProcessOptions[Key]{Workers: -1}, wrong.process), "must not be negative")
		w.start()
		w.requireShared(5)
	})
}

// A shutdown of the queue ends Ranges at each stage of a part: what is in progress is waited for, keys that
// were held back are reported, the part is given up, and another replica processes all of it.
func TestAShutdownOfTheQueueEndsRanges(t *testing.T) {
	for stage, heldBack := range map[string]int{"its range is listed": 1, "a key is in progress": 0, "the part is handed over": 1} {
		t.Run("while "+stage, func(t *testing.T) {
			inRanges(t, 20, 1, func(t *testing.T, w *rangedWorld) {
				w.level.Set(slog.LevelDebug)
				key := Key{NamespacedName: types.NamespacedName{Namespace: "default", Name: "object-7"}}
				r := w.prepare()
				finish, listing := make(chan struct{}), heldBack == 1 && stage == "its range is listed"
				r.do = func(_ context.Context, _ *Part, name types.NamespacedName) (workqueue.Result, error) {
					if name == key.NamespacedName {
						<-finish
					}
					return workqueue.Result{}, nil
				}
				if listing {
					r.reader.wait = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
				}
				r.run()
				pass(5 * time.Second)
				if stage == "the part is handed over" {
					r.stop()
					pass(time.Second)
				}
				if heldBack == 1 {
					other := key
					other.Name = "object-8"
					r.ranges.Add(other)
					pass(time.Second)
					require.Equal(t, 1, r.waiting())
				}
				r.ranges.Queue().ShutDown()
				pass(time.Second)
				if !listing {
					assert.Empty(t, r.ended, "a key is in progress")
				}
				close(finish)
				require.NoError(t, <-r.ended)
				r.stop = nil
				assert.Equal(t, heldBack, strings.Count(w.logs.String(), "the keys that were held back are left to the next owner"))
				assert.Zero(t, r.waiting())
				assert.Empty(t, r.objects())
				next := w.start()
				assert.EqualValues(t, 20, next.calls.Load())
			})
		})
	}
}
