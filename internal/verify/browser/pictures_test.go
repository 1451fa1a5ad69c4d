package browser_test

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/browser"
)

var update = flag.Bool("update", false, "write the pictures in testdata; look at them afterwards")

// chromium is started by the first test that needs it, and serves all of them.
var chromium = sync.OnceValues(browser.Start)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if c, err := chromium(); err == nil {
		if err := c.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// open opens a page.
func open(t *testing.T, s browser.Screen, url string) *browser.Tab {
	t.Helper()
	c, err := chromium()
	require.NoError(t, err)
	tab, err := c.Open(s)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, tab.Close()) })
	require.NoError(t, tab.Go(url))
	return tab
}

// screens are those of the pictures.
var screens = map[string]browser.Screen{
	"1280-light": {Width: 1280, Height: 900},
	"1280-dark":  {Width: 1280, Height: 900, Dark: true},
	"375-light":  {Width: 375, Height: 812},
	"375-dark":   {Width: 375, Height: 812, Dark: true},
}

// everywhere runs a test with each page on each screen.
func everywhere(t *testing.T, test func(t *testing.T, name string, tab *browser.Tab)) {
	t.Parallel()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			url := s.serve(t)
			for name, screen := range screens {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					tab := open(t, screen, url)
					test(t, s.name+"-"+name, tab)
					assert.Empty(t, tab.Messages(), "the console has nothing to complain about, and no policy was broken")
				})
			}
		})
	}
}

func TestPicturesOfThePage(t *testing.T) {
	everywhere(t, func(t *testing.T, name string, tab *browser.Tab) {
		shot, err := tab.Screenshot()
		require.NoError(t, err)
		got, err := png.Decode(bytes.NewReader(shot))
		require.NoError(t, err)
		file := filepath.Join("testdata", name+".png")
		if *update {
			small, err := browser.Small(got)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, small, 0o600))
		}
		saved, err := os.ReadFile(file)
		require.NoError(t, err)
		want, err := png.Decode(bytes.NewReader(saved))
		require.NoError(t, err)
		if err := browser.Compare(want, got); err != nil {
			actual := filepath.Join(os.TempDir(), "informerkit-"+name+".png")
			require.NoError(t, os.WriteFile(actual, shot, 0o600))
			t.Errorf("%v\nthe picture of now: %s\nthe one of before:  internal/verify/browser/%s\n"+
				"if that is as it should be: go -C internal/verify/browser test -run Pictures -update, and look at each picture", err, actual, file)
		}
	})
}
