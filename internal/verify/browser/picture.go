package browser

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
)

// Pictures are compared block by block, and of each block the mean of its colours. A
// letter that another version of Chromium draws with other shades at its edges hardly
// changes the mean; a letter more or less, another colour or a line that moved does.
const (
	block = 12 // pixels on a side
	// How much the mean of a block may differ, in each of red, green and blue, of 255.
	shade = 20
	// How many blocks may differ: a word that is wider by a pixel moves its end.
	differing = 4
	// How many pixels the page may be higher or lower.
	slack = 3
)

// Compare returns an error that says where got is not as want.
func Compare(want, got image.Image) error {
	was, is := plain(want), plain(got)
	a, b := was.Rect, is.Rect
	if a.Dx() != b.Dx() || max(a.Dy(), b.Dy())-min(a.Dy(), b.Dy()) > slack {
		return fmt.Errorf("the page is %d×%d pixels, and was %d×%d", b.Dx(), b.Dy(), a.Dx(), a.Dy())
	}
	all, differ := 0, image.Rectangle{}
	n := 0
	for y := 0; y < min(a.Dy(), b.Dy()); y += block {
		for x := 0; x < a.Dx(); x += block {
			all++
			here := image.Rect(x, y, min(x+block, a.Dx()), min(y+block, a.Dy(), b.Dy()))
			if distance(mean(was, here), mean(is, here)) > shade {
				n++
				differ = differ.Union(here)
			}
		}
	}
	if n > differing {
		return fmt.Errorf("%d of %d blocks of %d×%d pixels differ, between (%d, %d) and (%d, %d)",
			n, all, block, block, differ.Min.X, differ.Min.Y, differ.Max.X, differ.Max.Y)
	}
	return nil
}

// plain returns a copy whose pixels can be read quickly, and begin at (0, 0).
func plain(m image.Image) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, m.Bounds().Dx(), m.Bounds().Dy()))
	draw.Draw(p, p.Rect, m, m.Bounds().Min, draw.Src)
	return p
}

// mean returns the mean of red, green and blue, of 255.
func mean(m *image.RGBA, r image.Rectangle) (sum [3]int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			pixel := m.Pix[m.PixOffset(x, y):]
			for i := range sum {
				sum[i] += int(pixel[i])
			}
		}
	}
	for i := range sum {
		sum[i] /= r.Dx() * r.Dy()
	}
	return sum
}

// distance is the greatest difference of the three.
func distance(a, b [3]int) (most int) {
	for i := range a {
		most = max(most, a[i]-b[i], b[i]-a[i])
	}
	return most
}

// colors is how many a saved picture has. All that a page has over larger areas are
// among them; the rest are shades at the edges of letters.
const colors = 48

// Small returns the picture as a small PNG, with the most frequent colours, and those
// next to them for the others.
func Small(m image.Image) ([]byte, error) {
	from := plain(m)
	pixels := map[color.RGBA]int{}
	for y := range from.Rect.Dy() {
		for x := range from.Rect.Dx() {
			pixels[from.RGBAAt(x, y)]++
		}
	}
	byCount := slices.SortedFunc(maps.Keys(pixels), func(a, b color.RGBA) int {
		return cmp.Or(pixels[b]-pixels[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	p := image.NewPaletted(from.Rect, nil)
	for _, c := range byCount[:min(colors, len(byCount))] {
		p.Palette = append(p.Palette, c)
	}
	index := map[color.RGBA]uint8{}
	for _, c := range byCount {
		index[c] = uint8(p.Palette.Index(c)) //nolint:gosec // there are few
	}
	for y := range from.Rect.Dy() {
		for x := range from.Rect.Dx() {
			p.SetColorIndex(x, y, index[from.RGBAAt(x, y)])
		}
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, p)
	return b.Bytes(), err
}
