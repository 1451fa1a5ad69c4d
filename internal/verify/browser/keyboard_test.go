package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/browser"
)

// focus describes what has the focus, and whether a person sees that.
type focus struct {
	Index   int // among the controls, in the order of the document; -1 for none of them
	HTML    string
	Outline float64 // pixels
	Color   string
	Visible bool // within the window
}

// controls names all controls of a page that can be seen.
const controls = `Array.from(document.querySelectorAll("a[href], button, input, select, summary")).filter(function (e) { return e.getClientRects().length > 0; })`

func focused(t *testing.T, tab *browser.Tab) (f focus) {
	t.Helper()
	require.NoError(t, tab.Eval(`(function () {
		var e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
		return {
			Index: `+controls+`.indexOf(e), HTML: e.outerHTML.slice(0, 200),
			Outline: s.outlineStyle === "none" ? 0 : parseFloat(s.outlineWidth), Color: s.outlineColor,
			Visible: r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth,
		};
	})()`, &f))
	return f
}

// Tab reaches all controls in the order of the page, and shows where it is.
func TestTabReachesEverything(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		for name, screen := range screens {
			t.Run(s.name+"-"+name, func(t *testing.T) {
				t.Parallel()
				tab := open(t, screen, s.serve(t))
				var all int
				require.NoError(t, tab.Eval(controls+".length", &all))
				require.GreaterOrEqual(t, all, 5)
				for i := range all {
					require.NoError(t, tab.Press("Tab"))
					f := focused(t, tab)
					assert.Equal(t, i, f.Index, f.HTML)
					assert.GreaterOrEqual(t, f.Outline, 2.0, "the focus is seen at %s", f.HTML)
					assert.NotContains(t, f.Color, "rgba(0, 0, 0, 0)")
					assert.True(t, f.Visible, "scrolled into view: %s", f.HTML)
				}
				require.NoError(t, tab.Press("Shift+Tab"))
				assert.Equal(t, all-2, focused(t, tab).Index, "and back")
			})
		}
	}
}

// tabTo moves the focus to the control that a selector names.
func tabTo(t *testing.T, tab *browser.Tab, selector string) {
	t.Helper()
	for range 200 {
		require.NoError(t, tab.Press("Tab"))
		var there bool
		require.NoError(t, tab.Eval(`document.activeElement.matches(`+quote(selector)+`)`, &there))
		if there {
			return
		}
	}
	require.Fail(t, "Tab does not reach "+selector)
}

func TestEnterOpensWhatTheWordsMean(t *testing.T) {
	t.Parallel()
	tab := open(t, browser.Screen{Width: 1280, Height: 900}, scenes[0].serve(t))
	tabTo(t, tab, "#terms > summary")
	for _, key := range []string{"Enter", " "} {
		require.NoError(t, tab.Press(key))
		require.NoError(t, tab.Until(`document.getElementById("terms").open === `+map[string]string{"Enter": "true", " ": "false"}[key]))
	}
}

// A link of a problem leads to its card, which is marked.
func TestEnterFollowsALinkToACard(t *testing.T) {
	t.Parallel()
	tab := open(t, browser.Screen{Width: 375, Height: 600}, forbiddenScene.serve(t))
	tabTo(t, tab, "#verdict a")
	require.NoError(t, tab.Press("Enter"))
	require.NoError(t, tab.Until(`document.querySelector(".card:target h2").textContent.includes("replicasets.apps")`))
	require.NoError(t, tab.Until(`Math.abs(document.querySelector(".card:target").getBoundingClientRect().top) < 30`))
}
