package rows

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

func TestRowsAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	quick := 0
	for _, row := range All() {
		require.False(t, seen[row.Name()], "%s occurs twice", row.Name())
		seen[row.Name()] = true
		require.NotEmpty(t, row.Area, row.Name())
		require.NotEmpty(t, row.Does, row.Name())
		require.NotEmpty(t, row.Ours.Who, row.Name())
		require.NotEmpty(t, row.Theirs.Who, row.Name())
		require.NotNil(t, row.Ours.Setup, row.Name())
		require.NotNil(t, row.Theirs.Setup, row.Name())
		if row.Quick {
			quick++
			require.NotEqual(t, bench.Target{}, row.Want, "%s is quick, and asks for nothing", row.Name())
		}
	}
	require.LessOrEqual(t, quick, 15, "the quick comparison is to stay quick")
	felt := slices.DeleteFunc(All(), func(r bench.Row) bool { return r.Area != controllerArea })
	require.LessOrEqual(t, len(felt), 26, "the table of what is felt is read as a whole")
	require.LessOrEqual(t, len(All())-len(felt), 45, "other rows are there because they explain something")
	for _, row := range felt {
		require.True(t, row.Limit == "" || seen[row.Limit], "%s: there is no row %q", row.Name(), row.Limit)
	}
}

func TestSeriesAreComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, row := range All() {
		require.Nil(t, row.Point, row.Name())
		names[row.Name()] = true
	}
	points := map[string][]float64{}
	for _, row := range Scaling() {
		require.False(t, names[row.Name()], "%s occurs twice", row.Name())
		names[row.Name()] = true
		require.NotNil(t, row.Point, row.Name())
		require.Equal(t, bench.Target{}, row.Want, "%s is there to be drawn", row.Name())
		require.NotNil(t, row.Ours.Setup, row.Name())
		require.NotNil(t, row.Theirs.Setup, row.Name())
		for _, text := range []string{row.Does, row.Point.Title, row.Point.XLabel, row.Point.YLabel} {
			require.NotEmpty(t, text, row.Name())
		}
		points[row.Point.Series] = append(points[row.Point.Series], row.Point.X)
	}
	for name, xs := range points {
		require.GreaterOrEqual(t, len(xs), 4, name)
		require.True(t, slices.IsSorted(xs), name)
	}
	require.Len(t, points, 12)
}

// Both sides of a store row must see the same objects, or their figures are not
// comparable.
func TestStoresAgree(t *testing.T) {
	t.Parallel()
	for who, s := range map[string]store{informerkit: newOurStore(indexes), clientGo: newClientGoStore(indexes)} {
		ps := pods(1000, 10)
		s.WriteAll(ps)
		u := updatesOf(ps)
		for range 1500 {
			s.Write(u.take())
		}
		require.Equal(t, 1000, s.All(), who)
		require.Equal(t, 100, s.InNamespace(namespace(3)), who)
		require.Equal(t, podsPerNode, s.OnNode(nodeName(4)), who)
		for _, k := range keysOf(ps) {
			require.Equal(t, k.Name, s.Get(k).Name, who)
		}
		count := s.Changed()
		require.Zero(t, count(), who)
		s.Write(u.take())
		require.Equal(t, 1, count(), who)
	}
}

// A later version of an encoded object has the same length: protobuf holds it.
func TestLaterVersionsAreOfTheSameObject(t *testing.T) {
	t.Parallel()
	for _, enc := range []encoding{jsonEncoding, protobufEncoding} {
		plain := enc.object(typicalPod(255))
		changed := later(plain, 255, 10_000_000)
		require.Len(t, changed, len(plain), enc.contentType)
		require.Contains(t, string(plain), "web-7f9c6d5b8-000000ff", enc.contentType)
		require.Contains(t, string(plain), "10000255", enc.contentType)
		require.Contains(t, string(changed), "20000255", enc.contentType)
	}
}

// The server is the test binary, in another role.
func TestMain(m *testing.M) {
	few := collections["typical"]
	few.n = 500
	collections["few"] = few
	if len(os.Args) > 1 && os.Args[1] == ServeFlag {
		check(Serve(os.Stdin, os.Stdout))
		return
	}
	os.Exit(m.Run())
}

// Both sides read the same objects from a server, in each encoding, and receive what has
// changed in a second list.
func TestSyncersAgree(t *testing.T) {
	t.Parallel()
	for _, w := range []syncWork{
		{Served{"few", false, false}, "Relist", 5, cpuOf},
		{Served{"few", true, false}, "Relist", 5, cpuOf},
		{Served{"few", true, true}, "", 0, heapAfter},
		{Served{"few", false, true}, "", 0, peakOverSteady},
	} {
		for _, side := range []bench.Side{w.row(bench.Row{}).Ours, w.row(bench.Row{}).Theirs} {
			s := side.Setup()
			if s.Before != nil {
				s.Before()
			}
			s.Run(1)
			require.Positive(t, s.Value(), "%s, %v", side.Who, w.what)
			s.After()
		}
	}
}
