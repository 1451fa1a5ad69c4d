package explore

import (
	"regexp"
	"runtime"
	"strings"
)

var bubbleName = regexp.MustCompile(`synctest bubble \d+`)

// ownBubble names the bubble of the calling goroutine, as stacks do.
func ownBubble() string {
	buf := make([]byte, 128)
	return bubbleName.FindString(string(buf[:runtime.Stack(buf, false)]))
}

// leaked returns the stacks of the goroutines of a bubble, three at most, without those of this package.
func leaked(bubble string) string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for _, stack := range strings.Split(string(buf), "\n\n") {
		header, _, _ := strings.Cut(stack, "\n")
		if bubble != "" && strings.Contains(header, bubble+"]") && len(out) < 3 {
			out = append(out, stack)
		}
	}
	return strings.Join(out, "\n\n")
}
