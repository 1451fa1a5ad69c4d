package browser_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/browser"
)

// picture returns a saved picture, as a copy that may be painted over.
func picture(t *testing.T) *image.RGBA {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "healthy-375-light.png"))
	require.NoError(t, err)
	saved, err := png.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	m := image.NewRGBA(saved.Bounds())
	draw.Draw(m, m.Rect, saved, saved.Bounds().Min, draw.Src)
	return m
}

// paint changes each pixel of a part.
func paint(m *image.RGBA, part image.Rectangle, change func(x, y int, c color.RGBA) color.RGBA) *image.RGBA {
	to := image.NewRGBA(m.Rect)
	copy(to.Pix, m.Pix)
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			to.SetRGBA(x, y, change(x, y, m.RGBAAt(x, y)))
		}
	}
	return to
}

// Letters that are drawn a little differently are no difference; what a person would
// notice is one.
func TestPicturesDifferIfAPersonWouldSay(t *testing.T) {
	t.Parallel()
	m := picture(t)
	all := m.Rect
	require.NoError(t, browser.Compare(m, m))

	soft := paint(m, all.Inset(1), func(x, y int, c color.RGBA) color.RGBA {
		left, right := m.RGBAAt(x-1, y), m.RGBAAt(x+1, y)
		mix := func(a, b, c uint8) uint8 { return uint8((int(a) + 2*int(b) + int(c)) / 4) }
		return color.RGBA{mix(left.R, c.R, right.R), mix(left.G, c.G, right.G), mix(left.B, c.B, right.B), 255}
	})
	assert.NoError(t, browser.Compare(m, soft), "letters with softer edges")
	bold := paint(m, all, func(_, _ int, c color.RGBA) color.RGBA {
		return color.RGBA{c.R - c.R/12, c.G - c.G/12, c.B - c.B/12, 255}
	})
	assert.Error(t, browser.Compare(m, bold), "all of the page is darker")

	word := image.Rect(170, 25, 260, 45) // some words, or a button
	gone := paint(m, word.Add(image.Pt(0, 120)), func(int, int, color.RGBA) color.RGBA { return color.RGBA{0xda, 0xfb, 0xe1, 255} })
	assert.Error(t, browser.Compare(m, gone), "words are missing")
	red := paint(m, image.Rect(0, 240, 375, 243), func(int, int, color.RGBA) color.RGBA { return color.RGBA{0xa4, 0x0e, 0x26, 255} })
	assert.Error(t, browser.Compare(m, red), "a line has another colour")
	moved := paint(m, image.Rect(10, 300, 365, 600), func(x, y int, _ color.RGBA) color.RGBA { return m.RGBAAt(x, y-4) })
	assert.Error(t, browser.Compare(m, moved), "a part has moved by four pixels")
	assert.ErrorContains(t, browser.Compare(m, m.SubImage(image.Rect(0, 0, 375, 700))), "375×700 pixels, and was 375×")
	assert.ErrorContains(t, browser.Compare(m, m.SubImage(image.Rect(0, 0, 370, m.Rect.Dy()))), "370×")
}

// What is saved is the picture, with fewer shades.
func TestSavedPicturesAreSmallAndFaithful(t *testing.T) {
	t.Parallel()
	m := picture(t)
	for x := range 200 { // more colours than are kept
		m.SetRGBA(x, 0, color.RGBA{uint8(x), 255, uint8(255 - x), 255})
	}
	small, err := browser.Small(m)
	require.NoError(t, err)
	assert.Less(t, len(small), 60_000)
	saved, err := png.Decode(bytes.NewReader(small))
	require.NoError(t, err)
	assert.NoError(t, browser.Compare(m, saved))
}
