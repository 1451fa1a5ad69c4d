package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/workqueue"
)

// serve serves the page of a queue, and calls seen with each request.
func serve(t *testing.T, seen func()) *httptest.Server {
	t.Helper()
	queue := workqueue.New(workqueue.Options[string]{Name: "orders"})
	queue.Add("default/web")
	page, err := inspect.New(inspect.Options{Show: []inspect.Source{inspect.Queue(queue)}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/informers", func(w http.ResponseWriter, r *http.Request) {
		seen()
		page.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestOncePrintsTheText(t *testing.T) {
	t.Parallel()
	server := serve(t, func() {})
	for _, address := range []string{server.Listener.Addr().String(), server.URL, server.URL + "/", server.URL + "/debug/informers"} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), []string{"-once", address}, &out, true))
		assert.Contains(t, out.String(), "All is well: 1 item is queued in 1 queue.\n")
		assert.Contains(t, out.String(), "queue orders: waiting for a worker\n")
		assert.NotContains(t, out.String(), "\x1b")
	}
	err := run(t.Context(), []string{"-once", server.URL + "/elsewhere"}, &bytes.Buffer{}, false)
	assert.ErrorContains(t, err, "404")
	server.Close()
	err = run(t.Context(), []string{"-once", server.URL}, &bytes.Buffer{}, false)
	assert.ErrorContains(t, err, "is the program running")
}

func TestExplainsAKey(t *testing.T) {
	t.Parallel()
	server := serve(t, func() {})
	for _, key := range []string{"default/web", "a b&format=json/ü"} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), []string{"-once", "-explain", key, server.URL}, &out, false))
		assert.True(t, strings.HasPrefix(out.String(), key+" "), out.String())
	}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-once", "-explain", "default/web", server.URL}, &out, false))
	assert.Contains(t, out.String(), "default/web waits for a worker of queue orders")
	assert.Contains(t, out.String(), "the program records no history")
	err := run(t.Context(), []string{"-once", "-explain", strings.Repeat("x", 600), server.URL}, &out, false)
	assert.ErrorContains(t, err, "at most 512")
}

func TestFollowsUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		requests := 0
		server := serve(t, func() {
			if requests++; requests == 3 {
				cancel()
			}
		})
		var out bytes.Buffer
		require.NoError(t, run(ctx, []string{"-every", "1ms", "-lines", "3", server.URL}, &out, terminal))
		assert.Equal(t, 2, strings.Count(out.String(), "All is well"), "the third answer was not waited for")
		if terminal {
			assert.Equal(t, 2, strings.Count(out.String(), "\x1b[H\x1b[2JAll is well"))
			assert.Contains(t, out.String(), "more lines; -lines 0 shows all\n")
			assert.NotContains(t, out.String(), "default/web")
		} else {
			assert.NotContains(t, out.String(), "\x1b")
			assert.Contains(t, out.String(), "default/web")
		}
	}
}

func TestGoesOnWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests == 3 {
			cancel()
		}
		http.Error(w, "not now", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	var out bytes.Buffer
	require.NoError(t, run(ctx, []string{"-every", "1ms", server.URL}, &out, false))
	assert.Equal(t, 2, strings.Count(out.String(), "No answer at "))
	assert.Contains(t, out.String(), "503 Service Unavailable: not now")
}

func TestWrongArgumentsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"0 addresses given; give one, such as localhost:6060": {},
		"2 addresses given":          {"a", "b"},
		"-every is 0s":               {"-every", "0s", "a"},
		"is no address of a page":    {"ftp://a"},
		"the address cannot be read": {"a:b:c"},
		"not defined":                {"-x", "a"},
	} {
		var out bytes.Buffer
		assert.ErrorContains(t, run(t.Context(), args, &out, false), says)
	}
	var out bytes.Buffer
	require.Error(t, run(t.Context(), []string{"-h"}, &out, false))
	assert.Contains(t, out.String(), "usage: inspect [flags] ADDRESS")
}
