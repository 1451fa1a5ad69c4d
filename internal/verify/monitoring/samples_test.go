package monitoring

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// nan is no sample at all, as before a series begins.
var nan = math.NaN()

func names(s series) []string { return slices.Sorted(maps.Keys(s)) }

// sampled is a series with a sample each minute.
func sampled(set labels.Labels, minutes int, value func(int) float64) storage.Series {
	one := promql.Series{Metric: set}
	for m := range minutes {
		if v := value(m); !math.IsNaN(v) {
			one.Floats = append(one.Floats, promql.FPoint{T: int64(m) * minute.Milliseconds(), F: v})
		}
	}
	return promql.NewStorageSeries(one)
}

// queryable has some series, and no index.
type queryable []storage.Series

// Querier implements storage.Queryable.
func (q queryable) Querier(int64, int64) (storage.Querier, error) { return querier{q}, nil }

type querier struct{ all queryable }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, s := range q.all {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &set{found: found, at: -1}
}

// LabelValues implements storage.Querier.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// set is a storage.SeriesSet.
type set struct {
	found []storage.Series
	at    int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.found) }
func (s *set) At() storage.Series              { return s.found[s.at] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }
