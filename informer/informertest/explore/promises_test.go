package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

// played runs one schedule and returns the run.
func played(t *testing.T, opts Options, subject Subject, text string) (r *run) {
	t.Helper()
	s, err := parseSchedule(text)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		r, err = newRun(opts.withDefaults(), subject, s, true)
		require.NoError(t, err)
		r.play()
	})
	require.NoError(t, r.mistake)
	return r
}

// attempts are the errors that the controller got.
type attempts struct {
	mu   sync.Mutex
	errs []error
}

// start creates the secret "s" once per life, and again a second later if that failed.
func (a *attempts) start(ctx context.Context, cfg *rest.Config) error {
	_, owned := clients(cfg)
	for ctx.Err() == nil {
		_, err := owned.Create(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}})
		a.mu.Lock()
		a.errs = append(a.errs, err)
		a.mu.Unlock()
		if err == nil || apierrors.IsAlreadyExists(err) {
			<-ctx.Done()
		}
		<-time.After(time.Second)
	}
	return nil
}

// Promise explore/2
func TestACrashLeavesNothingButTheServer(t *testing.T) {
	var mu sync.Mutex
	var names []string
	var after error
	r := played(t, Options{}, Subject{Start: func(ctx context.Context, cfg *rest.Config) error {
		mu.Lock()
		names = append(names, Replica(ctx))
		first := len(names) == 1
		mu.Unlock()
		_, owned := clients(cfg)
		for _, name := range []string{"one", "two"} {
			// It ignores the context, as a process does that is killed: nothing that it still sends arrives.
			_, err := owned.Create(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
			if first && name == "two" {
				<-ctx.Done() // a moment later, maybe
				mu.Lock()
				after = err
				mu.Unlock()
			}
		}
		<-ctx.Done()
		return nil
	}}, "crash-after@w1")
	assert.Equal(t, []string{"a1", "a2"}, names)
	require.Error(t, after)
	var made []string
	for _, w := range r.writes {
		made = append(made, w.By+" "+w.Name)
	}
	assert.Equal(t, []string{"a1 one", "a2 ", "a2 two"}, slices.Compact(made), "the second life gets 409 for the first one")
}

// Promise explore/3
func TestOnlyWritesWithALostAnswerHaveTakenEffect(t *testing.T) {
	for text, want := range map[string]struct {
		effect bool
		is     func(error) bool
	}{
		"lost@w1":         {true, func(err error) bool { return strings.Contains(err.Error(), "connection reset") }},
		"timeout@w1":      {true, apierrors.IsTimeout},
		"crash-after@w1":  {true, func(err error) bool { return err != nil }},
		"crash-before@w1": {false, func(err error) bool { return err != nil }},
		"500@w1":          {false, apierrors.IsInternalError},
		"503@w1":          {false, apierrors.IsServiceUnavailable},
		"deny@w1":         {false, apierrors.IsForbidden},
		"quota@w1":        {false, apierrors.IsForbidden},
	} {
		t.Run(text, func(t *testing.T) {
			a := &attempts{}
			r := played(t, Options{}, Subject{Start: a.start}, text)
			require.GreaterOrEqual(t, len(a.errs), 2)
			require.Error(t, a.errs[0])
			assert.True(t, want.is(a.errs[0]), "%v", a.errs[0])
			assert.Equal(t, want.effect, apierrors.IsAlreadyExists(a.errs[1]), "the second attempt shows whether the first took effect: %v", a.errs[1])
			assert.Equal(t, 1, r.fired)
		})
	}
}

// Promise explore/3
func TestAShutdownIsSeenByTheController(t *testing.T) {
	a := &attempts{}
	played(t, Options{}, Subject{Start: a.start}, "stop-before@w1")
	assert.NoError(t, a.errs[0], "a write without the context is carried out")
}

// Promise explore/4
func TestAViewIsOldAndNeverWrong(t *testing.T) {
	for _, text := range []string{"lag@w1:configmaps", "gap@a2:configmaps:3", "gap@a2:configmaps", "stale@w1:configmaps:3", "order@5"} {
		t.Run(text, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string][]string{} // by life
			r := played(t, Options{}, Subject{Act: scaling, Start: func(ctx context.Context, cfg *rest.Config) error {
				name := Replica(ctx)
				_, owned := clients(cfg)
				return watchSets(ctx, cfg, func(n string) {
					mu.Lock()
					seen[name] = append(seen[name], n)
					mu.Unlock()
					_, err := owned.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "s-"}})
					assert.True(t, err == nil || ctx.Err() != nil || strings.Contains(err.Error(), "connection re"), "%v", err)
				})
			}}, text)
			require.Equal(t, 1, r.fired)
			last := seen[r.replicas[0].now.name]
			require.NotEmpty(t, last)
			assert.Equal(t, "2", last[len(last)-1], "the last state arrives in the end")
			for _, states := range seen {
				assert.True(t, subsequence(states, []string{"1", "3", "2"}), "%v", states)
			}
		})
	}
}

// Promise explore/4
func TestAWatchFromBeforeAGapIsRefused(t *testing.T) {
	for _, text := range []string{"gap@a2:configmaps:3", "gap@a2:configmaps"} {
		t.Run(text, func(t *testing.T) {
			var expired atomic.Int32
			r := played(t, Options{}, Subject{Act: scaling, Start: func(ctx context.Context, cfg *rest.Config) error {
				hc, err := rest.HTTPClientFor(cfg)
				if err != nil {
					return err
				}
				for version := ""; ctx.Err() == nil; {
					var last received
					if version == "" {
						last, err = lastAnswer(ctx, hc, cfg.Host, "")
					} else {
						last, err = lastAnswer(ctx, hc, cfg.Host, "watch=true&resourceVersion="+version)
					}
					switch {
					case last.Code == http.StatusGone || last.Object.Code == http.StatusGone:
						expired.Add(1)
						version = "" // list again
					case last.Metadata.ResourceVersion+last.Object.Metadata.ResourceVersion != "":
						version = last.Metadata.ResourceVersion + last.Object.Metadata.ResourceVersion
					}
					if err != nil {
						select {
						case <-ctx.Done():
						case <-time.After(time.Second):
						}
					}
				}
				return nil
			}}, text)
			require.Equal(t, 1, r.fired)
			assert.Positive(t, expired.Load())
		})
	}
}

// received is a list, a Status, or an event of a watch with an object or a Status.
type received struct {
	Code     int
	Metadata metav1.ListMeta
	Object   struct {
		Code     int
		Metadata metav1.ListMeta
	}
}

// lastAnswer reads config maps until the answer ends, and returns the last object of it.
func lastAnswer(ctx context.Context, hc *http.Client, host, query string) (last received, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/api/v1/namespaces/default/configmaps?"+query, nil)
	if err != nil {
		return last, err
	}
	resp, err := hc.Do(req)
	if err != nil {
		return last, err
	}
	defer resp.Body.Close()
	for objects := json.NewDecoder(resp.Body); ; {
		var next received
		if err := objects.Decode(&next); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return last, err
		}
		last = next
	}
}

// watchSets is the simplest of caches: a list that accepts an old state, and a watch from there.
func watchSets(ctx context.Context, cfg *rest.Config, saw func(n string)) error {
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	read := func(query string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+"/api/v1/namespaces/default/configmaps?"+query, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/json")
		return hc.Do(req)
	}
	at := "0"
	for ctx.Err() == nil {
		if err := listAndWatch(read, &at, saw); err != nil {
			at = ""
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// Promise explore/5
func TestStepsHappenOnceEachAndInOrder(t *testing.T) {
	for _, text := range []string{noFaults, "early@w1:3", "order@3", "gap@a2:configmaps:2", "crash-after@w1", "lag@w1:configmaps"} {
		t.Run(text, func(t *testing.T) {
			var steps []string
			note := func(what string) func(*informertest.Server) error {
				return func(s *informertest.Server) error {
					steps = append(steps, what)
					return s.Modify(configMaps, "default", "set", setN(len(steps)))
				}
			}
			played(t, Options{}, Subject{Start: start(good), Act: func(w *World) {
				w.Create(configMap("set", 1))
				w.Do("one", note("one"))
				w.Settle()
				w.Do("two", note("two"))
				w.Sleep(time.Minute)
				w.Do("three", note("three"))
			}}, text)
			assert.Equal(t, []string{"one", "two", "three"}, steps)
		})
	}
}

// The subject has one goroutine: of two, the faster one may find a request that the slower one has made or not.
//
// Promise explore/6
func TestEqualSchedulesGiveEqualRuns(t *testing.T) {
	for _, text := range []string{noFaults, "crash-after@w2", "order@9 lag@w1:configmaps", "stale@w2:configmaps 500@w3:2"} {
		subject := Subject{Act: scaling, Start: func(ctx context.Context, cfg *rest.Config) error {
			_, owned := clients(cfg)
			return watchSets(ctx, cfg, func(n string) {
				for i := range len(n) * 3 {
					_, _ = owned.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: secretName("set", i)}})
				}
			})
		}}
		assert.Equal(t, played(t, Options{}, subject, text).log, played(t, Options{}, subject, text).log, text)
	}
}

// Promise explore/6
func TestASubjectThatIsNotDeterministicIsNamed(t *testing.T) {
	var mu sync.Mutex
	lives := 0
	result := Search(t, Options{Schedules: 1}, Subject{Start: func(ctx context.Context, cfg *rest.Config) error {
		mu.Lock()
		lives++ // state that outlives Start
		name := strings.Repeat("s", lives)
		mu.Unlock()
		_, owned := clients(cfg)
		_, err := owned.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		<-ctx.Done()
		return err
	}})
	require.Len(t, result.Unsteady, 1)
}

// Promise explore/7
func TestTheScheduleOfAFindingBreaksTheSameRule(t *testing.T) {
	subject := Subject{Start: start(randomNames), Act: growing, Eventually: wanted}
	f := found(t, ruleEventually, subject)
	x := &search{t: t, opts: Options{}.withDefaults(), subject: subject}
	again := x.replay(f.Schedule)
	require.NotNil(t, again.Finding)
	assert.Equal(t, f.Rule, again.Finding.Rule)
	assert.Equal(t, f.Trace, again.Finding.Trace)
	assert.Nil(t, x.replay(noFaults).Finding)
	assert.Contains(t, f.String(), "-explore.schedule='"+f.Schedule+"'")
}

// Promise explore/7
func TestAScheduleIsReadAsItIsWritten(t *testing.T) {
	for _, text := range []string{"crash-after@w2", "lag@w12:pods", "stale@w3:pods:2 order@77", "gap@a1:configmaps:8", "500@w1:3"} {
		s, err := parseSchedule(text)
		require.NoError(t, err)
		assert.Equal(t, text, s.String())
		for _, simpler := range s.simpler() {
			again, err := parseSchedule(simpler.String())
			require.NoError(t, err)
			assert.ElementsMatch(t, simpler, again)
		}
	}
	for _, text := range []string{"crash@w1", "crash-after", "crash-after@", "crash-after@3", "crash-after@w0", "crash-after@wx", "lag@w1", "lag@w1:", "lag@w1:pods:2", "500@w1:9", "500@w1:2:3", "stale@w1:pods:x"} {
		_, err := parseSchedule(text)
		assert.Error(t, err, text)
	}
}

func TestAlwaysIsAskedAfterEachWrite(t *testing.T) {
	f := found(t, ruleAlways, Subject{Start: start(good), Act: scaling, Always: func(v View) error {
		if len(v.List(secrets, "default")) > 2 {
			return errors.New("more than two")
		}
		return nil
	}})
	assert.Equal(t, "more than two", f.Reason)
	assert.Empty(t, f.Schedule)
}

// Promise explore/8
func TestAControllerThatIsNeverQuietIsFound(t *testing.T) {
	r := played(t, Options{Steps: 100}, Subject{Start: func(ctx context.Context, cfg *rest.Config) error {
		_, owned := clients(cfg)
		for i := 0; ctx.Err() == nil; i++ { // no two writes are equal
			_, _ = owned.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: secretName("new", i)}})
		}
		return nil
	}}, noFaults)
	require.NotNil(t, r.broken)
	assert.Equal(t, ruleSteps, r.broken.rule)
	assert.Contains(t, r.broken.reason, "after 101 requests and events")
}

func TestAStepThatTheServerRefusesIsAMistake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := newRun(Options{}.withDefaults(), Subject{Start: start(good), Act: func(w *World) {
			w.Create(&unstructured.Unstructured{Object: map[string]any{"kind": "Nothing", "apiVersion": "v1", "metadata": map[string]any{"name": "x"}}})
		}}, nil, false)
		require.NoError(t, err)
		r.play()
		require.ErrorContains(t, r.mistake, "create Nothing")
	})
}

func TestThePageHasTheTimelines(t *testing.T) {
	file := t.TempDir() + "/page.html"
	result := Search(t, Options{Schedules: 100, HTML: file}, Subject{Start: start(randomNames), Act: growing, Eventually: wanted})
	require.NotNil(t, result.Finding)
	text := readFile(t, file)
	for _, want := range []string{result.Finding.Schedule, "server, users and faults", "create ConfigMap default/set", "w1 create secrets default/set-"} {
		assert.Contains(t, text, want)
	}
}

// A reader sees the failure, the fault and what led to it in twenty lines.
func TestATraceIsShort(t *testing.T) {
	events := []event{{who: "fault", kind: eventFault, text: "lost@w1"}}
	for i := range 50 {
		events = append(events, event{who: "a1", kind: eventSeen, text: fmt.Sprintf("sees ADDED pods web-%c%c", 'a'+i%26, 'a'+i/26)})
		events = append(events, event{who: "a1", kind: eventWrite, text: fmt.Sprintf("create pods web-%c%c", 'z'-i%26, 'a'+i/26), view: "is old"})
	}
	for i := range 40 {
		events = append(events, event{who: "a1", kind: eventWrite, text: "update a → 409 (version " + strconv.Itoa(i) + ")"}, event{who: "a1", kind: eventWrite, text: "create b → 201"})
	}
	events = append(events, event{who: "always", kind: eventFailure, text: "wrong"}, event{who: "a1", kind: eventWrite, text: "too late"})
	text := strings.Join(lines(events), "\n")
	assert.LessOrEqual(t, strings.Count(text, "\n")+1, 20)
	for _, want := range []string{"lost@w1", "update a → 409", "create b → 201", "the same 39 times more", "wrong"} {
		assert.Equal(t, 1, strings.Count(text, want), "%s in\n%s", want, text)
	}
	assert.NotContains(t, text, "too late")
}

func TestSchedulesOfEarlierFindingsComeFirst(t *testing.T) {
	subject := Subject{Start: start(randomNames), Act: growing, Eventually: wanted}
	result := Search(t, Options{Schedules: 2, First: []string{"order@3", "lost@w3"}}, subject)
	require.NotNil(t, result.Finding)
	assert.Equal(t, "lost@w3", result.Finding.Schedule)
	assert.Equal(t, 2, result.Finding.Tried)
}
