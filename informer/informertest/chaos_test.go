package informertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

// mirror is the simplest client that is correct: whatever goes wrong, it waits
// a second and lists again.
type mirror struct {
	client *http.Client
	url    string
	state  state
	failed int
}

// run mirrors until the context ends.
func (m *mirror) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := m.round(ctx); err != nil {
			m.failed++
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// round lists once and watches until the watch ends.
func (m *mirror) round(ctx context.Context) error {
	var list metav1.PartialObjectMetadataList
	err := m.decode(ctx, "", func(d *json.Decoder) error { return d.Decode(&list) })
	if err != nil {
		return err
	}
	st := state{}
	for _, item := range list.Items {
		st[item.Name] = item.ResourceVersion
	}
	m.state = st
	query := "?watch=true&allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion=" + list.ResourceVersion
	return m.decode(ctx, query, func(d *json.Decoder) error {
		for {
			var ev struct {
				Type   string
				Object metav1.PartialObjectMetadata
			}
			if err := d.Decode(&ev); err != nil {
				return err
			}
			switch ev.Type {
			case "ADDED", "MODIFIED":
				st[ev.Object.Name] = ev.Object.ResourceVersion
			case "DELETED":
				delete(st, ev.Object.Name)
			case "ERROR":
				return errors.New("error in the stream")
			}
		}
	})
}

// decode sends a GET and reads the answer.
func (m *mirror) decode(ctx context.Context, query string, read func(*json.Decoder) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // what hangs is given up
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+query, nil)
	if err != nil {
		return err
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return read(json.NewDecoder(resp.Body))
}

// Chaos neither loses nor invents objects: a client that is correct has the true
// state soon after it ends.
func TestACorrectClientSurvivesChaos(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := informertest.Start(t, informertest.Options{InMemory: true, HistoryLength: 50})
				client, err := rest.HTTPClientFor(s.Config())
				require.NoError(t, err)
				m := &mirror{client: client, url: s.URL() + configmapsPath}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); m.run(ctx) }()

				stop := s.InjectChaos(informertest.Chaos{Seed: seed, Rate: 0.6, Stalls: true, Longest: 10 * time.Second})
				truth := scribble(t, s, rand.New(rand.NewPCG(seed, 2)))
				stop()
				time.Sleep(5 * time.Minute) // of the bubble
				cancel()
				<-done
				assert.Equal(t, truth, m.state)
				assert.Positive(t, m.failed, "there was chaos")
			})
		})
	}
}

// scribble writes at random, with outages in between, and returns the outcome.
func scribble(t *testing.T, s *informertest.Server, random *rand.Rand) state {
	truth := state{}
	for range 500 {
		name := fmt.Sprint("o", random.IntN(20))
		cm := configmap(name)
		_, exists := truth[name]
		switch p := random.IntN(100); {
		case p == 0:
			s.Compact()
		case p == 1:
			s.Restart()
		case p == 2:
			require.NoError(t, s.Pause())
			time.Sleep(time.Duration(random.IntN(10)) * time.Second)
			require.NoError(t, s.Resume())
		case !exists:
			require.NoError(t, s.Create(cm))
			truth[name] = cm.GetResourceVersion()
		case p < 30:
			require.NoError(t, s.Delete(configmaps, "default", name))
			delete(truth, name)
		default:
			cm.Object["data"] = map[string]any{"n": fmt.Sprint(random.Int())}
			require.NoError(t, s.Update(cm))
			truth[name] = cm.GetResourceVersion()
		}
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
	}
	return truth
}
