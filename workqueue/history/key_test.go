package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue/history"
)

type (
	pair    struct{ Namespace, Name string }
	request struct{ Pair pair }
	nested  struct{ pair } // not exported: it cannot be set from outside
	number  uint8
	flag    bool
	text    string
)

func (number) String() string { panic("of the program") }

// roundTrip checks that an item has that key, and that the text leads back to it.
func roundTrip[T comparable](t *testing.T, item T, want string) {
	t.Helper()
	keyOf := history.KeyFunc[T]()
	require.NotNil(t, keyOf, "%T", item)
	assert.Equal(t, want, keyOf(item).String())
	back, ok := history.ItemOf[T](want)
	require.True(t, ok, "%T %q", item, want)
	assert.Equal(t, item, back)
	r := history.New(history.Options{})
	r.Note(time.Now(), &history.Record{What: history.Added, Key: keyOf(item)})
	assert.Len(t, r.Of(want).Entries, 1, "%T %q is found by its text", item, want)
}

func TestItemsAreFoundByTheTextOfTheirKeys(t *testing.T) {
	t.Parallel()
	roundTrip(t, pair{"default", "web"}, "default/web")
	roundTrip(t, pair{"", "node-1"}, "node-1")
	roundTrip(t, request{pair{"default", "web"}}, "default/web")
	roundTrip(t, "default/web", "default/web")
	roundTrip(t, "a/b/c", "a/b/c")
	roundTrip(t, "/", "/")
	roundTrip(t, "/x", "/x")
	roundTrip(t, "x/", "x/")
	roundTrip(t, "", "")
	roundTrip(t, text("x"), "x")
	roundTrip(t, -7, "-7")
	roundTrip(t, number(7), "7")
	roundTrip(t, flag(true), "true")

	keyOf := history.KeyFunc[pair]()
	r := history.New(history.Options{})
	r.Note(time.Now(), &history.Record{What: history.Added, Key: keyOf(pair{"", "a/b"})})
	assert.Len(t, r.Of("a/b").Entries, 1, "a name with a slash")
}

func TestItemsWithoutKeys(t *testing.T) {
	t.Parallel()
	assert.Nil(t, history.KeyFunc[*pair]())
	assert.Nil(t, history.KeyFunc[any]())
	assert.Nil(t, history.KeyFunc[time.Time]())
	assert.Nil(t, history.KeyFunc[nested]())
	assert.Nil(t, history.KeyFunc[struct{ Name, Namespace string }](), "in another order")
	assert.Nil(t, history.KeyFunc[[2]string]())
	assert.Nil(t, history.KeyFunc[float64]())
	_, ok := history.ItemOf[*pair]("default/web")
	assert.False(t, ok)
	for _, other := range []string{"256", "-1", "07", "+7", "x", ""} {
		_, ok := history.ItemOf[number](other)
		assert.False(t, ok, other)
	}
	_, ok = history.ItemOf[flag]("T")
	assert.False(t, ok)
}

func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", "/", "a", "a/b", "/a", "a/", "a/b/c", "ü/\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key := history.ParseKey(s)
		if key.String() != s {
			t.Fatalf("%q is parsed as %q, which is %q", s, key, key.String())
		}
		if history.ParseKey(key.String()) != key {
			t.Fatalf("%q is parsed in two ways", s)
		}
	})
}

func TestNamesOfWhatHappens(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for w := history.Received; w <= history.ParkTimedOut; w++ {
		name := w.String()
		assert.NotContains(t, name, "(")
		assert.False(t, seen[name], name)
		seen[name] = true
	}
	assert.Equal(t, "What(0)", history.What(0).String())
	assert.Equal(t, "What(99)", history.What(99).String())
}
