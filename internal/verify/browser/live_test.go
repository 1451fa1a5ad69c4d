package browser_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/internal/verify/browser"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

func quote(s string) string {
	text, _ := json.Marshal(s) // a string has no error
	return string(text)
}

// program serves a page that a test changes while it is open.
type program struct {
	queue   atomic.Pointer[stubQueue]
	observe workqueue.Observer[key] // of the queue
	broken  atomic.Bool
	asked   atomic.Int64
	url     string
}

func (p *program) Inspect(n int, only ...key) workqueue.Inspection[key] {
	return p.queue.Load().Inspect(n, only...)
}

func newProgram(t *testing.T) *program {
	t.Helper()
	recorder := history.New(history.Options{})
	p := &program{observe: history.Queue[key](recorder, "replicasets")}
	p.set(0)
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	h, err := inspect.New(inspect.Options{History: recorder, Show: []inspect.Source{pods(ago), inspect.Queue(p)}})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if p.broken.Load() {
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL + "/debug/informers"
	return p
}

// set makes an item of the queue fail for so many times in a row, which is a problem that makes
// the page grow at its top, or succeed with 0.
func (p *program) set(attempts int) {
	q := replicasets(func(d time.Duration) time.Time { return time.Now().Add(-d) })
	if attempts == 0 {
		p.observe(workqueue.Observation[key]{Step: workqueue.StepOutcome, Item: pod("web"), Time: time.Now(), Action: workqueue.Succeeded})
	} else {
		fails(p.observe, "web", attempts, 0, time.Hour, errors.New("exceeded quota"))
	}
	p.queue.Store(&q)
}

const seesFailure = `document.querySelector("#verdict .sentence").textContent.includes("shop/web failed 14 times in a row")`

// A page that is open follows the program, and what a person does on it goes on.
func TestRefreshKeepsThePlace(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	tab := open(t, browser.Screen{Width: 375, Height: 600}, p.url)
	tabTo(t, tab, "#terms > summary")
	require.NoError(t, tab.Press("Enter"))
	require.NoError(t, tab.Until(`document.getElementById("terms").open`))
	require.NoError(t, tab.Eval(`window.mark = document.getElementById("terms"); window.loaded = "once"; scrollBy(0, 40)`, nil))
	place := func() (top float64) {
		require.NoError(t, tab.Eval(`document.getElementById("terms").getBoundingClientRect().top`, &top))
		return top
	}
	before := place()

	p.set(14)
	require.NoError(t, tab.Until(seesFailure))
	var same bool
	require.NoError(t, tab.Eval(`window.loaded === "once" && window.mark === document.getElementById("terms") && window.mark.open`, &same))
	assert.True(t, same, "the page was not loaded again, and what was open is open")
	require.NoError(t, tab.Eval(`document.activeElement === window.mark.querySelector("summary")`, &same))
	assert.True(t, same, "the focus stays")
	// Chromium moves what is seen only when it draws the next frame.
	require.NoError(t, tab.Until(fmt.Sprintf(`Math.abs(document.getElementById("terms").getBoundingClientRect().top - %f) < 3`, before)))
	require.NoError(t, tab.Until(`document.getElementById("announce").textContent.includes("shop/web failed 14 times")`))
	require.NoError(t, tab.Until(`document.title.startsWith("Warning")`))

	p.set(0)
	require.NoError(t, tab.Until("!"+seesFailure))
	require.NoError(t, tab.Until(fmt.Sprintf(`Math.abs(document.getElementById("terms").getBoundingClientRect().top - %f) < 3`, before)))
	assert.Empty(t, violations(t, tab), "after the page has changed")
	assert.Empty(t, tab.Messages())
}

// Cards move when their problems change, and take the focus along.
func TestFocusMovesWithItsCard(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.set(14)
	tab := open(t, browser.Screen{Width: 1280, Height: 900}, p.url)
	tabTo(t, tab, "#verdict a")
	require.NoError(t, tab.Eval(`window.mark = document.activeElement`, nil))
	p.set(15)
	require.NoError(t, tab.Until(`document.querySelector("#verdict .sentence").textContent.includes("15 times")`))
	var same bool
	require.NoError(t, tab.Eval(`document.activeElement === window.mark`, &same))
	assert.True(t, same)
	var first string
	require.NoError(t, tab.Eval(`document.querySelector(".card h2").textContent`, &first))
	assert.True(t, strings.HasPrefix(first, "queue replicasets"), first)
}

// What is selected is not taken away before it can be copied.
func TestSelectionHoldsTheUpdate(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	tab := open(t, browser.Screen{Width: 1280, Height: 900}, p.url)
	require.NoError(t, tab.Eval(`getSelection().selectAllChildren(document.querySelector("#verdict .sentence"))`, nil))
	p.set(14)
	asked := p.asked.Load()
	require.NoError(t, tab.Eval(`new Promise(function (done) { setTimeout(done, 2500); })`, nil)) // a period, and some
	assert.Equal(t, asked, p.asked.Load())
	require.NoError(t, tab.Eval(`getSelection().removeAllRanges()`, nil))
	require.NoError(t, tab.Until(seesFailure))
}

func TestPauseByKeyboard(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	tab := open(t, browser.Screen{Width: 1280, Height: 900}, p.url)
	tabTo(t, tab, "#pause")
	require.NoError(t, tab.Press("Enter"))
	require.NoError(t, tab.Until(`document.getElementById("pause").textContent === "Resume updates"`))
	p.set(14)
	asked := p.asked.Load()
	require.NoError(t, tab.Eval(`new Promise(function (done) { setTimeout(done, 2500); })`, nil))
	assert.LessOrEqual(t, p.asked.Load(), asked+1, "one may have been under way")
	var sees bool
	require.NoError(t, tab.Eval(seesFailure, &sees))
	assert.False(t, sees)
	require.NoError(t, tab.Press(" "))
	require.NoError(t, tab.Until(seesFailure))
}

// A program that is gone does not look as if all were well.
func TestPageSaysThatTheProgramDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	tab := open(t, browser.Screen{Width: 1280, Height: 900}, p.url)
	p.broken.Store(true)
	require.NoError(t, tab.Until(`document.getElementById("announce").textContent.startsWith("No answer from the program since ")`))
	require.NoError(t, tab.Until(`document.getElementById("announce").getBoundingClientRect().height > 10`))
	assert.Empty(t, violations(t, tab))
	p.broken.Store(false)
	require.NoError(t, tab.Until(`!document.getElementById("announce").textContent.includes("No answer")`))
}

// The links of the page lead to its other forms, and back to a new page.
func TestLinksByKeyboard(t *testing.T) {
	t.Parallel()
	for _, noScript := range []bool{false, true} {
		p := newProgram(t)
		tab := open(t, browser.Screen{Width: 1280, Height: 900, NoScript: noScript}, p.url)
		p.set(14)
		tabTo(t, tab, `nav a[href="?format=html"]`)
		require.NoError(t, tab.Press("Enter"))
		require.NoError(t, tab.Until(`location.search === "?format=html" && `+seesFailure))
		tabTo(t, tab, `nav a[href="?format=json"]`)
		require.NoError(t, tab.Press("Enter"))
		require.NoError(t, tab.Until(`document.contentType === "application/json" && document.body.textContent.includes("exceeded quota")`))
	}
}

// A key is looked up with the keyboard alone, with and without the script.
func TestLookUpByKeyboard(t *testing.T) {
	t.Parallel()
	for _, noScript := range []bool{false, true} {
		p := newProgram(t)
		tab := open(t, browser.Screen{Width: 375, Height: 600, NoScript: noScript}, p.url)
		tabTo(t, tab, "#lookup")
		require.NoError(t, tab.Type("shop/web"))
		require.NoError(t, tab.Press("Enter"))
		require.NoError(t, tab.Until(`new URLSearchParams(location.search).get("key") === "shop/web" && document.querySelector("#verdict .sentence").textContent.includes("shop/web")`))
		assert.Empty(t, tab.Messages(), "the policy permits it")
	}
}
