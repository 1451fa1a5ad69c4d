package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/bench/rows"
)

// Results of other machines or other ways are not mixed with these, and rows that
// are measured again take the places of the old ones.
func TestResultsIntoAFile(t *testing.T) {
	t.Parallel()
	all := rows.All()
	entry := func(row bench.Row, figure float64) bench.Entry {
		return bench.Entry{Area: row.Area, Work: row.Work, Ours: bench.ReportOutcome{Who: "a", Figure: figure}, Theirs: bench.ReportOutcome{Who: "b"}}
	}
	file := filepath.Join(t.TempDir(), "saved.json")
	save := func(rep bench.Report) {
		var out bytes.Buffer
		require.NoError(t, rep.WriteJSON(&out))
		require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
	}
	opts, err := parse([]string{"-into", file})
	require.NoError(t, err)

	_, err = savedLike(opts)
	require.ErrorIs(t, err, os.ErrNotExist)

	mine := report(opts, nil)
	mine.Entries = []bench.Entry{entry(all[0], 1), entry(all[1], 1)}
	other := mine
	other.Host.CPU = "another"
	save(other)
	_, err = savedLike(opts)
	require.ErrorContains(t, err, "another machine")
	memory, err := parse([]string{"-into", file, "-run", "heap per object, equal parts shared, pods$"})
	require.NoError(t, err)
	_, err = savedLike(memory)
	require.NoError(t, err, "bytes are the same everywhere")
	require.NoError(t, keep(memory, other, mine))
	mixed, err := bench.LoadReport(file)
	require.NoError(t, err)
	require.Equal(t, &mine.Host, mixed.Entries[0].Host, "and it is said where they are from")
	other = mine
	other.How = "once"
	save(other)
	_, err = savedLike(opts)
	require.ErrorContains(t, err, `"once" instead of`)

	save(mine)
	saved, err := savedLike(opts)
	require.NoError(t, err)
	require.NoError(t, keep(opts, saved, bench.Report{Entries: []bench.Entry{entry(all[1], 2)}}))
	kept, err := bench.LoadReport(file)
	require.NoError(t, err)
	require.Equal(t, mine.Host, kept.Host)
	require.Equal(t, []float64{1, 2}, []float64{kept.Entries[0].Ours.Figure, kept.Entries[1].Ours.Figure})
}

// Series are drawn each into a file of its own, and the table as the summary.
func TestSavedResultsAreDrawn(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new", "charts")
	draw := func(results string) (string, error) {
		var out bytes.Buffer
		_, err := run(t.Context(), []string{"-from", results, "-charts", folder}, nil, &out)
		return out.String(), err
	}
	printed, err := draw("../../results/compare.json")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(folder, "summary.svg")+"\n", printed)
	printed, err = draw("../../results/scaling.json")
	require.NoError(t, err)
	require.Contains(t, printed, filepath.Join(folder, "objects-get.svg")+"\n")
	for _, name := range []string{"summary.svg", "objects-get.svg"} {
		is, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		should, err := os.ReadFile(filepath.Join("../../charts", name))
		require.NoError(t, err)
		require.Equal(t, string(should), string(is))
	}

	saved, err := os.ReadFile("../../results/scaling.json")
	require.NoError(t, err)
	broken := filepath.Join(t.TempDir(), "broken.json")
	require.NoError(t, os.WriteFile(broken, bytes.ReplaceAll(saved, []byte(`"objects-get"`), []byte(`"../escaped"`)), 0o600))
	folder = filepath.Join(t.TempDir(), "charts")
	_, err = draw(broken)
	require.ErrorContains(t, err, "cannot be that of a file")
	require.NoDirExists(t, folder, "nothing is written for bad input")
}
