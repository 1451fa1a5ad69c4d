package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"
)

// Chromium is a running browser. Its methods may be called concurrently.
type Chromium struct {
	ctx     context.Context
	profile string // removed by Close
}

// programs are the names under which distributions install Chromium.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// find returns the path of Chromium.
func find() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium: run internal/verify/browser/install.sh, or set CHROMIUM to the path of Chromium or Chrome")
}

// flags make the browser quiet, and its pictures the same on all machines.
var flags = map[string]any{
	"headless": true, "no-first-run": true, "no-default-browser-check": true,
	// It opens no page but those of the tests, and a sandbox needs rights that
	// containers do not give.
	"no-sandbox": true, "disable-dev-shm-usage": true, "disable-gpu": true,
	"disable-extensions": true, "disable-background-networking": true, "disable-component-update": true, "disable-sync": true, "disable-quic": true,
	"password-store": "basic", "use-mock-keychain": true, "lang": "en-US",
	"hide-scrollbars": true, "force-device-scale-factor": "1", "force-color-profile": "srgb", "font-render-hinting": "none", "disable-lcd-text": true,
	// Tabs in the background keep their timers.
	"disable-background-timer-throttling": true, "disable-renderer-backgrounding": true, "disable-backgrounding-occluded-windows": true,
}

// fonts is a configuration of fontconfig with two fonts, whatever else is installed and
// whatever family a page asks for. %s is where it may keep its cache.
const fonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <cachedir>%s</cachedir>
  <selectfont>
    <acceptfont><glob>*/DejaVuSans.ttf</glob><glob>*/DejaVuSans-Bold.ttf</glob><glob>*/DejaVuSansMono*.ttf</glob></acceptfont>
    <rejectfont><glob>*</glob></rejectfont>
  </selectfont>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`

// font has to be there. Without it the pictures would differ from those in testdata for
// no reason that they show.
const font = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"

// patience is how long a command may take. It is long because the machine may be busy.
const patience = 2 * time.Minute

// Start starts a browser with an empty profile. Close it.
func Start() (*Chromium, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(font); err != nil {
		return nil, fmt.Errorf("the font of the pictures is missing: run internal/verify/browser/install.sh: %w", err)
	}
	profile, err := os.MkdirTemp("", "informerkit-browser-")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(profile, "fonts.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, fonts, filepath.Join(profile, "fontcache")), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(profile))
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(filepath.Join(profile, "data")), chromedp.WSURLReadTimeout(patience),
		chromedp.Env("FONTCONFIG_FILE="+config, "TZ=UTC", "HOME="+profile),
	}
	for name, value := range flags {
		options = append(options, chromedp.Flag(name, value))
	}
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...) // Close cancels it with the browser
	ctx, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %s: %w", program, err), os.RemoveAll(profile))
	}
	return &Chromium{ctx, profile}, nil
}

// Close ends the browser and removes its profile.
func (c *Chromium) Close() error {
	return errors.Join(chromedp.Cancel(c.ctx), os.RemoveAll(c.profile))
}
