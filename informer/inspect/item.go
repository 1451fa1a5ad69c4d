package inspect

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/workqueue"
)

const (
	// A name has up to 253 characters, a namespace up to 63: nearly every key is shown
	// whole, and one item cannot fill the page.
	maxItem      = 256 // bytes of an item that are shown
	maxCondition = 3 * maxItem
	// Enough for what an API server answers in words. A proxy may answer with a page of
	// HTML.
	maxMessage = 1024 // bytes of an error
)

// describeItem returns the text for an item of a queue. It shows keys, that is
// values that consist of strings, numbers and booleans only. Of one with a
// pointer or an interface in it, it shows the type alone: whole objects may hang
// on it, and printing would show them.
func describeItem(item any) string {
	// Its String would begin with a slash.
	if key, ok := item.(types.NamespacedName); ok && key.Namespace == "" {
		return shorten(key.Name, maxItem)
	}
	if t := reflect.TypeOf(item); !isKey(t) {
		return fmt.Sprintf("(%v)", t)
	}
	return shorten(fmt.Sprint(item), maxItem)
}

// isKey reports whether values of t consist of strings, numbers and booleans. The type
// is asked, not the value, so that a queue shows all of its items or none. The
// recursion ends: a type contains itself only through one of the kinds that are
// refused.
func isKey(t reflect.Type) bool {
	if t == nil {
		return false
	}
	switch t.Kind() {
	case reflect.Array:
		return isKey(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isKey(t.Field(i).Type) {
				return false
			}
		}
		return true
	// Slices and maps could hold only strings, but no queue has them as items: they are
	// not comparable.
	case reflect.Pointer, reflect.UnsafePointer, reflect.Interface, reflect.Chan, reflect.Func, reflect.Map, reflect.Slice:
		return false
	}
	return true
}

// shorten cuts a text off after so many bytes. The mark says that something is missing.
// It comes on top of the limit, three bytes in UTF-8.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	// Not within a character: half of one is not valid UTF-8, which JSON must be.
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// printable returns s with everything that could move the cursor of a terminal,
// begin a line or turn the writing around as an escape sequence. What a browser
// must not see is the template's business.
//
// The common case is a name of plain characters, which is returned without an
// allocation. Invalid UTF-8 arrives here as U+FFFD; Quote escapes its bytes.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) < 0 {
		return s
	}
	// Quote escapes exactly what is not printable, and also quotes, which do no harm
	// here.
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// untilText is what a text about a park begins with.
func untilText(condition string) string {
	if condition == "" {
		return ""
	}
	return "until " + printable(condition) + ", "
}

// describeCondition completes "until …"; it is empty without a condition.
func describeCondition(c workqueue.Condition) string {
	if c == nil {
		return ""
	}
	return shorten(c.String(), maxCondition)
}
