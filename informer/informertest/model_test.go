package informertest_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

var modelSeed = flag.Uint64("model.seed", 0, "seed of the model test; 0 tries six")

// state is a collection as the model has it: resourceVersions by name.
type state map[string]string

// model remembers the state after each write, by version.
type model struct {
	*testing.T
	s       *informertest.Server
	client  *http.Client
	random  *rand.Rand
	states  map[uint64]state
	latest  uint64
	floor   uint64 // what is older may be forgotten
	watches []*follower
}

// follower applies the events of a watch to a state.
type follower struct {
	done  chan struct{}
	state state
	rv    uint64
	code  int32 // of an ERROR event
}

// The promises about lists and watches hold after any sequence of writes: the
// model is a map copied at each version.
// Promise informertest/2
// Promise informertest/3
// Promise informertest/4
func TestListsAndWatchesAgreeWithTheModel(t *testing.T) {
	seeds := []uint64{*modelSeed}
	if *modelSeed == 0 {
		seeds = nil
		for i := range uint64(6) {
			seeds = append(seeds, i+1)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("model.seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runModel(t, seed) })
		})
	}
}

func runModel(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	s := informertest.Start(t, informertest.Options{InMemory: true, HistoryLength: 20 + random.IntN(200)})
	client, err := rest.HTTPClientFor(s.Config())
	require.NoError(t, err)
	m := &model{T: t, s: s, client: client, random: random, states: map[uint64]state{}}
	m.latest = uint64(atoi(t, s.ResourceVersion()))
	m.states[m.latest] = state{}
	for range 300 {
		switch p := random.IntN(100); {
		case p < 70:
			m.write()
		case p < 80:
			m.list()
		case p < 90:
			m.pages()
		case p < 98 && len(m.watches) < 10:
			m.watch()
		case p >= 99:
			s.Compact()
			m.floor = m.latest
		}
	}
	time.Sleep(2 * time.Minute) // of the bubble: every watch times out
	for _, w := range m.watches {
		<-w.done
		if w.code == 0 {
			assert.Equal(t, m.states[m.latest], w.state)
		} else {
			assert.EqualValues(t, http.StatusGone, w.code)
		}
	}
}

// write creates, changes or deletes one of a few objects.
func (m *model) write() {
	name := fmt.Sprint("o", m.random.IntN(15))
	next := maps.Clone(m.states[m.latest])
	cm := configmap(name)
	_, exists := next[name]
	switch {
	case !exists:
		require.NoError(m, m.s.Create(cm))
		next[name] = cm.GetResourceVersion()
	case m.random.IntN(3) == 0:
		require.NoError(m, m.s.Delete(configmaps, "default", name))
		delete(next, name)
	default:
		cm.Object["data"] = map[string]any{"n": strconv.Itoa(m.random.Int())}
		require.NoError(m, m.s.Update(cm))
		next[name] = cm.GetResourceVersion()
	}
	m.latest = uint64(atoi(m.T, m.s.ResourceVersion()))
	m.states[m.latest] = next
}

// past picks a version that was the latest once.
func (m *model) past() uint64 {
	all := slices.Sorted(maps.Keys(m.states))
	return all[m.random.IntN(len(all))]
}

// fetch lists and returns the answer's code, state, version and continue token.
func (m *model) fetch(query url.Values) (code int, st state, list metav1.ListMeta) {
	resp, err := m.client.Get(m.s.URL() + configmapsPath + "?" + query.Encode())
	require.NoError(m, err)
	defer resp.Body.Close()
	var body metav1.PartialObjectMetadataList
	require.NoError(m, json.NewDecoder(resp.Body).Decode(&body))
	st = state{}
	for i, item := range body.Items {
		st[item.Name] = item.ResourceVersion
		assert.True(m, i == 0 || cmp.Less(body.Items[i-1].Name, item.Name), "in order")
	}
	return resp.StatusCode, st, body.ListMeta
}

// list lists at a past version.
func (m *model) list() {
	rv := m.past()
	code, st, list := m.fetch(url.Values{"resourceVersion": {fmt.Sprint(rv)}, "resourceVersionMatch": {"Exact"}})
	if code == http.StatusGone {
		assert.True(m, rv < m.latest, "the latest version is never forgotten")
		return
	}
	require.Equal(m, http.StatusOK, code)
	assert.GreaterOrEqual(m, rv, m.floor)
	assert.Equal(m, fmt.Sprint(rv), list.ResourceVersion)
	assert.Equal(m, m.states[rv], st)
}

// pages lists page by page while writes go on.
func (m *model) pages() {
	query := url.Values{"limit": {fmt.Sprint(1 + m.random.IntN(5))}}
	began, all := m.latest, state{}
	for {
		code, st, list := m.fetch(query)
		if code == http.StatusGone {
			assert.Less(m, began, m.latest)
			return
		}
		require.Equal(m, http.StatusOK, code)
		assert.Equal(m, fmt.Sprint(began), list.ResourceVersion)
		maps.Copy(all, st)
		if list.Continue == "" {
			break
		}
		query.Set("continue", list.Continue)
		m.write()
	}
	assert.Equal(m, m.states[began], all)
}

// watch follows the collection from a past version on.
func (m *model) watch() {
	rv := m.past()
	resp, err := m.client.Get(m.s.URL() + configmapsPath + "?watch=true&timeoutSeconds=60&allowWatchBookmarks=true&resourceVersion=" + fmt.Sprint(rv))
	require.NoError(m, err)
	w := &follower{done: make(chan struct{}), state: maps.Clone(m.states[rv]), rv: rv}
	m.watches = append(m.watches, w)
	go func() {
		defer close(w.done)
		defer resp.Body.Close()
		w.follow(m.T, resp.Body)
	}()
}

// follow applies events until the watch ends.
func (w *follower) follow(t *testing.T, body io.Reader) {
	d := json.NewDecoder(body)
	for {
		var ev struct {
			Type   string
			Object struct {
				metav1.PartialObjectMetadata
				Code int32
			}
		}
		if d.Decode(&ev) != nil {
			return
		}
		o := ev.Object
		if ev.Type == "ERROR" {
			w.code = o.Code
			continue
		}
		rv, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
		assert.NoError(t, err)
		_, known := w.state[o.Name]
		switch ev.Type {
		case "BOOKMARK":
			assert.GreaterOrEqual(t, rv, w.rv)
			w.rv = rv
			continue
		case "ADDED":
			assert.False(t, known)
			w.state[o.Name] = o.ResourceVersion
		case "MODIFIED":
			assert.True(t, known)
			w.state[o.Name] = o.ResourceVersion
		case "DELETED":
			assert.True(t, known)
			delete(w.state, o.Name)
		}
		assert.Greater(t, rv, w.rv, "each version once, in order")
		w.rv = rv
	}
}
