package client_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
)

// about is an object as a cache has it: with its kind.
func about(name string) *corev1.ConfigMap {
	m := configMap(name)
	m.APIVersion, m.Kind, m.UID = "v1", "ConfigMap", types.UID(name)
	return m
}

// recorder is an Events in fake time, and what it has written.
type recorder struct {
	*client.Events
	t      *testing.T
	server *informertest.Server
}

func inRecorder(t *testing.T, test func(t *testing.T, r recorder)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		cfg := rest.CopyConfig(server.Config())
		cfg.QPS = -1
		e, err := client.NewEvents(cfg, "tester")
		require.NoError(t, err)
		test(t, recorder{e, t, server})
	})
}

func (r recorder) written() []eventsv1.Event {
	r.t.Helper()
	list, err := r.server.List(eventsv1.SchemeGroupVersion.WithResource("events"), "", nil)
	require.NoError(r.t, err)
	all := make([]eventsv1.Event, len(list))
	for i, u := range list {
		require.NoError(r.t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &all[i]))
	}
	return all
}

// Promise client/9
func TestARepeatedEventIsCounted(t *testing.T) {
	inRecorder(t, func(t *testing.T, r recorder) {
		for range 1000 { // for 1,000 s
			require.NoError(t, r.Record(t.Context(), about("a"), "Warning", "Failed", "no space left"))
			time.Sleep(time.Second)
		}
		all := r.written()
		require.Len(t, all, 1)
		e := all[0]
		assert.Equal(t, "ConfigMap default/a", e.Regarding.Kind+" "+e.Regarding.Namespace+"/"+e.Regarding.Name)
		assert.Equal(t, "Warning Failed: no space left", e.Type+" "+e.Reason+": "+e.Note)
		assert.Equal(t, "tester", e.ReportingController)
		assert.InDelta(t, 1000, e.Series.Count, 60)
		assert.InDelta(t, 1000/60, r.server.Count("patch", "events"), 1)

		require.NoError(t, r.Record(t.Context(), about("a"), "Warning", "Failed", "another reason"))
		require.NoError(t, r.Record(t.Context(), about("b"), "Warning", "Failed", "no space left"))
		time.Sleep(1000 * time.Second) // the longest pause of workqueue's limiter
		require.NoError(t, r.Record(t.Context(), about("a"), "Warning", "Failed", "another reason"))
		assert.Len(t, r.written(), 3)
		time.Sleep(20 * time.Minute) // the series of the first one has ended
		require.NoError(t, r.Record(t.Context(), about("a"), "Warning", "Failed", "no space left"))
		assert.Len(t, r.written(), 4)
	})
}

// Promise client/9
func TestAnEventThatTheServerHasForgottenIsWrittenAgain(t *testing.T) {
	inRecorder(t, func(t *testing.T, r recorder) {
		record := func() error { return r.Record(t.Context(), about("a"), "Normal", "Done", "done") }
		require.NoError(t, record())
		require.NoError(t, r.server.Delete(eventsv1.SchemeGroupVersion.WithResource("events"), "default", r.written()[0].Name))
		time.Sleep(2 * time.Minute)
		assert.Error(t, record())
		require.NoError(t, record())
		assert.Len(t, r.written(), 1)

		r.server.Inject(informertest.Fault{Verb: "create", Resource: "events", Times: 1, Effect: informertest.Respond(500, "text/plain", "no")})
		other := func() error { return r.Record(t.Context(), about("b"), "Normal", "Done", "done") }
		assert.Error(t, other())
		require.NoError(t, other(), "one that was not written is not counted")
		assert.Len(t, r.written(), 2)
	})
}

func TestEventsOfAllKindsOfObjects(t *testing.T) {
	inRecorder(t, func(t *testing.T, r recorder) {
		node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		require.NoError(t, r.Record(t.Context(), node, "Normal", "Seen", strings.Repeat("ä", 1000)))
		e := r.written()[0]
		assert.Equal(t, "default", e.Namespace, "about what is in no namespace")
		assert.Empty(t, e.Regarding.Namespace)
		assert.LessOrEqual(t, len(e.Note), 1024)
		assert.Regexp(t, "ä… ", e.Note, "whole characters")

		assert.ErrorContains(t, r.Record(t.Context(), configMap("a"), "Normal", "Seen", "x"), "has no kind")
		assert.ErrorContains(t, r.Record(t.Context(), (*corev1.ConfigMap)(nil), "Normal", "Seen", "x"), "is nil")
		assert.Error(t, r.Record(t.Context(), about("a"), "Strange", "Seen", "x"))
		for component, want := range map[string]string{
			"": "the component is empty", "cron backups": "qualified name", "a/b/c": "qualified name", "ä": "qualified name",
			strings.Repeat("a", 64): "qualified name", strings.Repeat("a", 1<<20): "qualified name", "Example.com/a": "qualified name",
		} {
			_, err := client.NewEvents(r.server.Config(), component)
			assert.ErrorContains(t, err, want)
			assert.Less(t, len(err.Error()), 2048)
		}
		for _, reason := range []string{"", strings.Repeat("R", 129), "\xff"} {
			assert.ErrorContains(t, r.Record(t.Context(), about("a"), "Normal", reason, "x"), "the reason is")
		}
		_, err := client.NewEvents(nil, "x")
		assert.ErrorContains(t, err, "rest.Config")
	})
}

// An Event is about an object of any name, and its own name is one that the API allows.
func TestNamesOfEvents(t *testing.T) {
	long := strings.Repeat("n", 253)
	for name, want := range map[string]string{
		"web": "web-", "a.b": "a.b-", "system:node": "system-node-", "Admin": "admin-", ":": "event-", "": "event-", "..x": "x-", "a:-b_c": "a--b-c-",
		"日本": "event-", long: long[:57] + "-", "system:" + long: "system-" + long[:50] + "-", strings.Repeat("a", 55) + ".-.b": strings.Repeat("a", 55) + "-",
	} {
		t.Run(name, func(t *testing.T) {
			inRecorder(t, func(t *testing.T, r recorder) {
				of := about("x")
				of.Name = name
				require.NoError(t, r.Record(t.Context(), of, "Normal", "Seen", strings.Repeat("\xff", 1100)+strings.Repeat("ä\xff", 1100)))
				e := r.written()[0]
				assert.Equal(t, want, e.GenerateName)
				assert.Empty(t, validation.NameIsDNSSubdomain(e.GenerateName, true), "the rule of the API")
				assert.Equal(t, name, e.Regarding.Name)
				assert.LessOrEqual(t, len(e.Note), 1024)
				assert.True(t, utf8.ValidString(e.Note))
				assert.LessOrEqual(t, len(e.ReportingInstance), 128)
			})
		})
	}
}

// What is remembered is bounded; what is forgotten is written again.
func TestManyEventsAtOnce(t *testing.T) {
	inRecorder(t, func(t *testing.T, r recorder) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for j := range 200 {
					assert.NoError(t, r.Record(t.Context(), about(fmt.Sprint("o-", i%4, "-", j)), "Normal", "Seen", "x"))
				}
			})
		}
		all.Wait()
		assert.Equal(t, 800, len(r.written()))
		for j := range 400 {
			require.NoError(t, r.Record(t.Context(), about(fmt.Sprint("new-", j)), "Normal", "Seen", "x"))
		}
		require.NoError(t, r.Record(t.Context(), about("o-0-0"), "Normal", "Seen", "x"))
		assert.Equal(t, 1201, len(r.written()))
	})
}
