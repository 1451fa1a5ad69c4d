package informer

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// requireUnreadable checks that no read and no wait takes the object for one that does not exist.
func requireUnreadable(t *testing.T, inf *Informer[*pod], p *pod, listed bool) {
	t.Helper()
	key := object.KeyOf(p)
	for name, read := range map[string]func() error{
		"Get":           func() error { _, err := inf.Lister().Get(key); return err },
		"Get in its ns": func() error { _, err := inf.Lister().Namespace(key.Namespace).Get(key.Name); return err },
		"WaitForObject": func() error { return inf.WaitForObject(t.Context(), p) },
		"WaitForDeleted": func() error {
			return inf.WaitForDeleted(t.Context(), key, p.UID)
		},
		"WaitFor": func() error {
			_, err := inf.WaitFor(t.Context(), key, func(_ *pod, exists bool) bool { return !exists })
			return err
		},
	} {
		err := read()
		require.ErrorIs(t, err, ErrUnreadable, name)
		require.ErrorContains(t, err, key.String(), name)
		require.False(t, apierrors.IsNotFound(err), name)
	}
	var met atomic.Bool // the condition may be met later, by the goroutine that applies changes
	inf.Seen(p).Register(func() { met.Store(true) })
	require.Equal(t, listed, met.Load(), "once a list has it too, it is processed again, and fails with an error of Get")
}

func requireNotFound(t *testing.T, inf *Informer[*pod], p *pod) {
	t.Helper()
	_, err := inf.Lister().Get(object.KeyOf(p))
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.NoError(t, inf.WaitForDeleted(t.Context(), object.KeyOf(p), p.UID))
}

func TestUnreadableObjectOfAListIsNotNotFound(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "good", 1)
	bad := c.set("a", "bad", 1)
	c.blur("a", "bad")
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		require.NoError(t, w.inf.Ready(), "one bad object does not take a program out of service")
		requireUnreadable(t, w.inf, bad, true)
		requireNotFound(t, w.inf, &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "none", UID: "u"}})
		w.mend()
		synctest.Wait()
		_, err := w.inf.Lister().Get(object.KeyOf(bad))
		require.NoError(t, err)
		w.remove("a", "bad")
		synctest.Wait()
		requireNotFound(t, w.inf, bad)
	})
}

func TestUnreadableObjectOfAnEventIsNotNotFound(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "good", 1)
	c.blur("a", "bad")
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		key := types.NamespacedName{Namespace: "a", Name: "bad"}
		ended := make(chan error, 1)
		go func() {
			_, err := w.inf.WaitFor(t.Context(), key, func(_ *pod, exists bool) bool { return exists })
			ended <- err
		}()
		synctest.Wait()
		bad := w.set("a", "bad", 1)
		synctest.Wait()
		require.ErrorIs(t, <-ended, ErrUnreadable, "a wait that had begun before")
		requireUnreadable(t, w.inf, bad, false)
		time.Sleep(2 * time.Minute) // it is listed again
		synctest.Wait()
		requireUnreadable(t, w.inf, bad, true)
		w.remove("a", "bad") // the event of which is not readable either
		synctest.Wait()
		requireNotFound(t, w.inf, bad)
		bad = w.set("a", "bad", 2)
		synctest.Wait()
		requireUnreadable(t, w.inf, bad, false)
		w.disconnect(true)
		w.remove("a", "bad")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		requireNotFound(t, w.inf, bad)
	})
}

// The cache keeps the last state that could be read.
func TestWaitForAWriteThatCannotBeReadFails(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "good", 1)
	c.set("a", "bad", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		w.blur("a", "bad")
		bad := w.set("a", "bad", 2)
		synctest.Wait()
		require.ErrorIs(t, w.inf.WaitForObject(t.Context(), bad), ErrUnreadable)
		got, err := w.inf.Lister().Get(object.KeyOf(bad))
		require.NoError(t, err)
		require.NotEqual(t, bad.ResourceVersion, got.ResourceVersion)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.inf.WaitForDeleted(ctx, object.KeyOf(bad), bad.UID), context.DeadlineExceeded)
	})
}

// The error of a Transform is not that of the read, even if it is a NotFound.
func TestObjectWhoseTransformFailsIsNotNotFound(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "good", 1)
	bad := c.set("a", "bad", 1)
	inWorld(t, c, Options[*pod]{Transform: func(p *pod) (*pod, error) {
		if p.Name == "bad" {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "n")
		}
		return p, nil
	}}, func(t *testing.T, w *world) { requireUnreadable(t, w.inf, bad, true) })
}

func TestUnreadableObjectWithoutANameMayBeAny(t *testing.T) {
	t.Parallel()
	c := newCluster()
	good := c.set("a", "good", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		none := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "none", UID: "u", ResourceVersion: "1"}}
		requireNotFound(t, w.inf, none)
		w.inf.applier.progress.sources[0].sink().Unreadable(false, &reflector.ObjectError{Position: 3, Class: reflector.ClassDecode, Err: errors.New("no name")})
		requireUnreadable(t, w.inf, none, true)
		_, err := w.inf.Lister().Get(object.KeyOf(good))
		require.NoError(t, err)
		w.disconnect(true) // the list does not have it
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		requireNotFound(t, w.inf, none)
	})
}

// What is applied was queued before the object became unreadable.
func TestObjectStaysUnreadableWhileOlderChangesAreApplied(t *testing.T) {
	t.Parallel()
	var u unreadable
	obj := &metav1.ObjectMeta{Namespace: "a", Name: "bad"}
	key := object.KeyOf(obj)
	bad := []*reflector.ObjectError{{Key: key}}
	u.add(true, bad)
	u.queueList(1)
	u.applyList()
	require.NotNil(t, u.find(key), "its own list")
	u.queueObject(obj) // a deletion
	u.add(false, bad)
	u.applyObject(obj)
	require.NotNil(t, u.find(key), "it was made again before the deletion was applied")
	u.queueObject(obj)
	u.applyObject(obj)
	require.Nil(t, u.find(key))

	u.queueList(1)
	u.add(false, bad) // by an event after the list
	u.applyList()
	require.NotNil(t, u.find(key), "a list that was queued before")
	u.queueList(1)
	u.applyList()
	require.Nil(t, u.find(key))
	require.False(t, u.any.Load())
}

// Another object under its name says that an object is gone, even if it cannot be read.
func TestUnreadableObjectOfAnotherUIDIsNotTheOneThatWasDeleted(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		key := objKey("a", "x")
		for uid, want := range map[types.UID]error{"other": nil, "u": ErrUnreadable, "": ErrUnreadable} {
			unread := &w.inf.applier.progress.sources[0].unreadable
			unread.add(false, []*reflector.ObjectError{{Key: key, UID: uid, Err: errors.New("boom")}})
			require.ErrorIs(t, w.inf.WaitForDeleted(t.Context(), key, "u"), want)
		}
		require.ErrorIs(t, w.inf.WaitForDeleted(t.Context(), key, ""), ErrUnreadable)
	})
}

func TestManyUnreadableObjectsTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	var u unreadable
	for i := range 2 * maxUnreadable {
		u.add(false, []*reflector.ObjectError{{Key: types.NamespacedName{Name: strings.Repeat("x", i%10) + string(rune(i))}}})
	}
	require.LessOrEqual(t, len(u.objects), maxUnreadable+1)
	require.NotNil(t, u.find(types.NamespacedName{Name: "any"}))
}

// Promise informer/11
func TestWritesWhoseVersionsCannotBeComparedAreWaitedForByVersion(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	c := newCluster()
	inWorld(t, c, Options[*pod]{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, func(t *testing.T, w *world) {
		s := w.inf.applier.progress.sources[0]
		state := func(version string) *pod {
			return &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", UID: "u", ResourceVersion: version}}
		}
		send := func(versions ...string) {
			t.Helper()
			for _, v := range versions {
				require.NoError(t, s.queue.Update(t.Context(), state(v)))
			}
			require.NoError(t, s.written(nil))
			synctest.Wait()
		}
		send("v1")
		for range 8 { // waits that do not look at single objects
			go func() { _ = w.inf.WaitForResourceVersion(t.Context(), "9999") }()
		}
		for name, later := range map[string][]string{"the last of a batch": {"v2", "w"}, "within a batch": {"v3", "w", "v4"}} {
			ended := make(chan error, 1)
			go func() { ended <- w.inf.WaitForObject(t.Context(), state("w")) }()
			met := false
			w.inf.Seen(state("w")).Register(func() { met = true })
			synctest.Wait()
			assert.Empty(t, ended, name)
			assert.False(t, met, name)
			send(later[0])
			assert.Empty(t, ended, "%s: another version", name)
			send(later[1:]...)
			require.NoError(t, <-ended, name)
			assert.True(t, met, name)
			send("v5")
		}
		send("w")
		require.NoError(t, w.inf.WaitForObject(t.Context(), state("w")), "it is there")
		send("v6")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.inf.WaitForObject(ctx, state("9")), context.DeadlineExceeded, "a number, where the cache has none")
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		never := state("w")
		never.Name = "never"
		require.ErrorIs(t, w.inf.WaitForObject(ctx, never), context.DeadlineExceeded, "an object that was never there")
		require.Equal(t, 1, strings.Count(logged.String(), "cannot be compared"), "%s", logged.String())
	})
}
