// Package exampletest helps the tests of the examples to run and to watch them.
package exampletest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informerkit/examples/demo"
)

// Kubeconfig writes a kubeconfig file that leads to the API server at url, and
// returns its name.
func Kubeconfig(t testing.TB, url string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(name, demo.Kubeconfig(url), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Pass lets the clock of a synctest bubble go on by d, and what is due then
// happen.
func Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// Page returns, as JSON, the page whose address the output of an example has.
func Page(t testing.TB, output string) string {
	t.Helper()
	url := regexp.MustCompile(`http://[0-9.:]+/debug/informers`).FindString(output)
	if url == "" {
		t.Fatalf("the output has no address of a page: %s", output)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(url + "?format=json")
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Watcher is a buffer that calls Seen, if it is set, each time something is written to it
// from the moment that it contains Word. It is safe for concurrent use.
type Watcher struct {
	Word string
	Seen func()

	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (w *Watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if w.Seen != nil && strings.Contains(w.buf.String(), w.Word) {
		w.Seen()
	}
	return n, err
}

// String returns all that was written.
func (w *Watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// Main runs the tests of a package and fails if goroutines of the library, of an
// example or of an HTTP connection outlive them. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	// A connection closes a moment after its last user.
	for deadline := time.Now().Add(5 * time.Second); code == 0; time.Sleep(10 * time.Millisecond) {
		left := running()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "%d goroutines left behind:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

func running() (left []string) {
	buf := make([]byte, 4<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	for _, stack := range stacks[1:] { // the first one is the caller
		if strings.Contains(stack, "/informerkit/") || strings.Contains(stack, "net/http.") {
			left = append(left, stack)
		}
	}
	return left
}
