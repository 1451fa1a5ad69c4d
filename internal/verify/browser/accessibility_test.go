package browser_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/browser"
)

// axe is the script of axe-core.
var axe = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("axe/node_modules/axe-core/axe.min.js")
	if err != nil {
		return "", fmt.Errorf("there is no axe-core: run internal/verify/browser/install.sh: %w", err)
	}
	return string(text), nil
})

// violations runs axe-core on the page: the rules of WCAG 2.2, A and AA, with those about
// contrast, and what axe-core calls best practices.
func violations(t *testing.T, tab *browser.Tab) (found []string) {
	t.Helper()
	script, err := axe()
	require.NoError(t, err)
	require.NoError(t, tab.Eval(script+"; true", nil))
	var result struct {
		Passes     []struct{ ID string }
		Incomplete []struct {
			ID    string
			Nodes []struct{ HTML string }
		}
		Violations []struct {
			ID, Help string
			Nodes    []struct{ HTML, FailureSummary string }
		}
	}
	var text string
	require.NoError(t, tab.Eval(`axe.run(document, {
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
		resultTypes: ["violations", "incomplete", "passes"],
	}).then(function (r) { return JSON.stringify({passes: r.passes, incomplete: r.incomplete, violations: r.violations}); })`, &text))
	require.NoError(t, json.Unmarshal([]byte(text), &result))
	for _, v := range result.Violations {
		for _, n := range v.Nodes {
			found = append(found, fmt.Sprintf("%s (%s): %s: %s", v.ID, v.Help, n.HTML, n.FailureSummary))
		}
	}
	// What it could not decide would be a violation that nobody sees.
	for _, v := range result.Incomplete {
		for _, n := range v.Nodes {
			found = append(found, fmt.Sprintf("%s could not be decided: %s", v.ID, n.HTML))
		}
	}
	checked := map[string]bool{}
	for _, p := range result.Passes {
		checked[p.ID] = true
	}
	for _, rule := range []string{"color-contrast", "target-size", "heading-order", "landmark-one-main", "region", "html-has-lang"} {
		assert.True(t, checked[rule], "axe-core has checked %s", rule)
	}
	return found
}

func TestNoAccessibilityViolations(t *testing.T) {
	everywhere(t, func(t *testing.T, _ string, tab *browser.Tab) {
		assert.Empty(t, violations(t, tab))
		require.NoError(t, tab.Eval(`document.querySelectorAll("details").forEach(function (d) { d.open = true; })`, nil))
		assert.Empty(t, violations(t, tab), "with everything open")
	})
}

// WCAG 1.4.10 asks for 320 pixels, which is also 1280 at 400%.
func TestNothingIsWiderThanTheScreen(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			tab := open(t, browser.Screen{Width: 320, Height: 700}, s.serve(t))
			for _, width := range []int{320, 375, 600, 768, 1024, 1280, 2560} {
				require.NoError(t, tab.Show(browser.Screen{Width: width, Height: 700}))
				var wide []string
				require.NoError(t, tab.Eval(`Array.from(document.querySelectorAll("body *")).filter(function (e) {
					return e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 || e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1;
				}).map(function (e) { return e.outerHTML.slice(0, 200); })`, &wide))
				assert.Empty(t, wide, "at %d pixels", width)
				var page int
				require.NoError(t, tab.Eval(`document.documentElement.scrollWidth`, &page))
				assert.LessOrEqual(t, page, width)
			}
		})
	}
}

// Everything that the page says is said without its script, too.
func TestPageWithoutJavaScript(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			url := s.serve(t)
			text := func(tab *browser.Tab) (text string) {
				require.NoError(t, tab.Eval(`document.querySelector("main").innerText`, &text))
				return text
			}
			screen := browser.Screen{Width: 1280, Height: 900}
			with := open(t, screen, url)
			screen.NoScript = true
			without := open(t, screen, url)
			assert.Equal(t, text(with), text(without))
			assert.NotEmpty(t, strings.TrimSpace(text(without)))
			assert.Empty(t, without.Messages())
			var hidden bool
			require.NoError(t, without.Eval(`document.getElementById("pause").hidden`, &hidden))
			assert.True(t, hidden, "a button that could do nothing is not there")
		})
	}
}
