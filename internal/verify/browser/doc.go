// Package browser looks at the page of informer/inspect in a real browser: Chromium,
// without a window.
//
//	install.sh                    what has to be there: Chromium, a font, axe-core
//	chromium.go, tab.go           starts Chromium and sends it commands
//	picture.go                    compares screenshots
//	scenes_test.go                the programs whose pages are looked at
//	pictures_test.go              the pages look as in testdata/*.png
//	accessibility_test.go         axe-core finds nothing; nothing is wider than the screen
//	keyboard_test.go, live_test.go  the page by keyboard, and while it refreshes itself
//
// chromedp sends commands through a pipe (--remote-debugging-pipe) and not through a
// port, so that no other process of the machine can control the browser.
//
// # When a picture differs
//
// A test that fails says where the present picture is. Look at it; if it is as it
// should be, write the pictures again, look at each of them, and commit them:
//
//	go -C internal/verify/browser test -run Pictures -update
//
// Chromium is that of the system, so its version changes. Pictures are compared with a
// tolerance for how letters are drawn, see picture.go.
package browser
