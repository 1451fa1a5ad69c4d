package reflector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// elsewhere is a ConfigMap of another namespace than "ns".
func elsewhere(name, rv string) string {
	return strings.Replace(scripted.ConfigMap(name, rv), `"namespace":"ns"`, `"namespace":"other"`, 1)
}

// labelled is a ConfigMap with the label app.
func labelled(name, rv, app string) string {
	return strings.Replace(scripted.ConfigMap(name, rv), `"namespace":"ns"`, `"namespace":"ns","labels":{"app":"`+app+`"}`, 1)
}

// Promise reflector/1
func TestObjectsOutsideOfWhatASourceCoversDoNotReachTheSink(t *testing.T) {
	for name, c := range map[string]struct {
		opts    reflector.ResourceOptions
		list    []string // the first one is inside
		events  [][2]string
		held    string
		reports int
	}{
		"another namespace": {
			opts:    reflector.ResourceOptions{Namespace: "ns"},
			list:    []string{scripted.ConfigMap("a", "1"), elsewhere("ghost", "2")},
			events:  [][2]string{{"ADDED", elsewhere("b", "11")}, {"MODIFIED", elsewhere("a", "12")}, {"DELETED", elsewhere("a", "13")}, {"ADDED", scripted.ConfigMap("c", "14")}},
			held:    "a@1 c@14",
			reports: 4,
		},
		"labels that are not selected": {
			opts:    reflector.ResourceOptions{LabelSelector: "app=web"},
			list:    []string{labelled("a", "1", "web"), labelled("ghost", "2", "db"), labelled("b", "3", "web")},
			events:  [][2]string{{"ADDED", labelled("c", "11", "db")}, {"MODIFIED", labelled("a", "12", "db")}, {"ADDED", labelled("d", "13", "web")}, {"DELETED", labelled("b", "14", "db")}},
			held:    "d@13",
			reports: 3,
		},
		"another name": {
			opts:    reflector.ResourceOptions{FieldSelector: "metadata.name=a,spec.unknown=x"},
			list:    []string{scripted.ConfigMap("a", "1"), scripted.ConfigMap("ghost", "2")},
			events:  [][2]string{{"ADDED", scripted.ConfigMap("b", "11")}, {"MODIFIED", scripted.ConfigMap("a", "12")}},
			held:    "a@12",
			reports: 2,
		},
		"a name that is excluded": {
			opts:    reflector.ResourceOptions{FieldSelector: "metadata.name!=b"},
			list:    []string{scripted.ConfigMap("a", "1")},
			events:  [][2]string{{"ADDED", scripted.ConfigMap("b", "11")}},
			held:    "a@1",
			reports: 1,
		},
	} {
		for _, by := range []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList} {
			t.Run(name+" by "+string(by), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					changes := func(w httpWriter, r *httpRequest, _ int) {
						for _, ev := range c.events {
							scripted.Send(w, ev[0], ev[1])
						}
						scripted.Hang(r)
					}
					s := &scripted.Server{List: scripted.Lists("10", c.list...), Watch: changes, WatchList: func(w httpWriter, r *httpRequest, n int) {
						for _, obj := range c.list {
							scripted.Send(w, "ADDED", obj)
						}
						scripted.Send(w, "BOOKMARK", scripted.Bookmark("10", true))
						changes(w, r, n)
					}}
					lw, err := reflector.NewResource[*configMap](s.Config(t), scripted.ConfigMaps, c.opts)
					require.NoError(t, err)
					sink := knowing{newRecorder()}
					r := run(t, lw, sink, reflector.Options{Sync: by, OnQuarantine: func(oe *reflector.ObjectError) {
						require.Equal(t, reflector.ClassOutside, oe.Class)
					}})
					after(2 * time.Minute)
					require.Equal(t, c.held, sink.holds())
					require.Equal(t, c.reports, r.Health().Quarantined)
					require.Equal(t, reflector.StateWatching, r.Health().State, "a list would not help")
					require.LessOrEqual(t, len(s.Requests()), 2)
				})
			})
		}
	}
}

func TestATransformMayChangeWhatWasSelected(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10", labelled("a", "1", "web")), Watch: scripted.Quiet}
		lw, err := reflector.NewResource[*configMap](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{LabelSelector: "app=web"})
		require.NoError(t, err)
		sink := newRecorder()
		run(t, reflector.Transform(lw, func(o *configMap) (*configMap, error) { o.Labels = nil; return o, nil }), sink, listMode)
		after(time.Second)
		require.Equal(t, "a@1", sink.holds())
	})
}
