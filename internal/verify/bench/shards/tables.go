package shards

import (
	"fmt"
	"strconv"
	"time"
)

// tables returns all tables of a result. Those that follow from both runs are left out if
// there is only one.
func (r *Result) tables() []table {
	all := []table{r.steady(), r.moves(), r.scenarios(), r.owned()}
	u, err := r.Units()
	if err != nil {
		return all
	}
	return append(all, u.table(), formulas(), r.calculated(&u))
}

// steady is a column per run: what the replicas cost without moves.
func (r *Result) steady() table {
	t := newTable("steady", "A steady rate of changes", "")
	for i := range r.Runs {
		run := &r.Runs[i]
		t.Header = append(t.Header, "filter "+onOff(run.Filter))
	}
	row := func(name string, cell func(run *Run) string) {
		cells := []string{name}
		for i := range r.Runs {
			cells = append(cells, cell(&r.Runs[i]))
		}
		t.Add(cells...)
	}
	row("objects, replicas, parts", func(run *Run) string {
		return fmt.Sprintf("%s, %d, %d", amount(float64(run.Objects)), run.Replicas, run.Parts)
	})
	row("`Health` says that the filter is of the", func(run *Run) string { return run.FilteredBy })
	row("start: lists, and their bytes", func(run *Run) string {
		return fmt.Sprintf("%d, %s", run.Start.Lists, size(float64(run.Start.ListBytes)))
	})
	row("start: until all is worked on", func(run *Run) string { return seconds(run.Start.Seconds) })
	row("start: processor of the server, of all replicas", func(run *Run) string {
		return seconds(run.Start.ServerCPU) + ", " + seconds(run.Start.ReplicaCPU)
	})
	row("objects in the largest cache; promised at most", func(run *Run) string {
		m := float64(run.Objects)
		return fmt.Sprintf("%s; %s", amount(float64(run.MostObjects)), amount(m/float64(run.Replicas)+m/float64(run.Parts)))
	})
	row("live heap per replica", func(run *Run) string { return size(float64(run.Heap) / float64(run.Replicas)) })
	row("changes per second", func(run *Run) string { return number(float64(run.Steady.Changes) / run.Steady.Seconds) })
	row("a replica receives of objects", func(run *Run) string {
		return size(float64(run.Steady.WatchBytes)/run.Steady.Seconds/float64(run.Replicas)) + "/s"
	})
	row("events delivered; dropped, of all replicas", func(run *Run) string {
		return amount(float64(run.Steady.Delivered)) + "; " + amount(float64(run.Steady.Dropped))
	})
	row("processor of the server, of all replicas, per 1,000 changes", func(run *Run) string {
		per := func(cpu float64) string { return seconds(cpu / float64(run.Steady.Changes) * 1000) }
		return per(run.Steady.ServerCPU) + ", " + per(run.Steady.ReplicaCPU)
	})
	row("Lease writes: sessions; records", func(run *Run) string {
		per := func(n int64) string { return number(float64(n) / run.Steady.Seconds) }
		return per(run.Steady.SessionWrites) + "/s; " + per(run.Steady.RecordWrites) + "/s"
	})
	row("a replica receives of Leases", func(run *Run) string {
		return size(float64(run.Steady.LeaseBytes)/run.Steady.Seconds/float64(run.Replicas)) + "/s"
	})
	row("change to reconcile: median, 99%, most", func(run *Run) string { return run.Latency.String() })
	return t
}

// String returns the percentiles.
func (l Latency) String() string {
	return seconds(l.Median) + ", " + seconds(l.P99) + ", " + seconds(l.Most)
}

// moves is a row per move.
func (r *Result) moves() table {
	t := newTable("moves", "Replicas come and go",
		"move", "filter", "parts moved; promised at most", "keys", "until all is worked on", "a part without work, at most",
		"lists, and by how many", "bytes of lists", "Lease writes: records", "processor of the server, of the replicas",
	)
	for i := range r.Runs {
		run := &r.Runs[i]
		for j := range run.Moves {
			m := &run.Moves[j]
			t.Add(fmt.Sprintf("%s, of %d", m.Kind, m.Replicas), onOff(run.Filter), fmt.Sprintf("%d; %d", m.Parts, m.Bound),
				amount(float64(m.Parts)*float64(run.Objects)/float64(run.Parts)), seconds(m.Seconds), seconds(m.Gap),
				fmt.Sprintf("%d, %d", m.Lists, m.Listing), size(float64(m.ListBytes)), strconv.FormatInt(m.RecordWrites, 10),
				seconds(m.ServerCPU)+", "+seconds(m.ReplicaCPU))
		}
	}
	return t
}

// scenarios is a row per scenario.
func (r *Result) scenarios() table {
	t := newTable("scenarios", "The four scenarios",
		"scenario", "objects, changes", "reconciles", "double", "missed", "parts moved", "a part without work, at most", "change to reconcile: median, 99%, most",
	)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		t.Add(fmt.Sprintf("%s: %s", s.Name, s.Does), amount(float64(s.Objects))+", "+amount(float64(s.Changes)), amount(float64(s.Reconciles)),
			strconv.Itoa(s.Double), strconv.Itoa(s.Missed), strconv.Itoa(s.PartsMoved), seconds(s.Gap), s.Latency.String())
	}
	return t
}

// owned is a row per way to read owners and what they own.
func (r *Result) owned() table {
	t := newTable("owned", "Owners and what they own, one of the replicas",
		"way", "filter", "owners; children", "children without their owner", "lists", "bytes of lists", "live heap", "processor", "changes of children",
	)
	for i := range r.Owned {
		o := &r.Owned[i]
		t.Add(o.Way, onOff(o.Filter), amount(float64(o.OwnersHeld))+"; "+amount(float64(o.ChildrenHeld)), amount(float64(o.Apart)),
			strconv.FormatInt(o.Lists, 10), size(float64(o.ListBytes)), size(float64(o.Heap)), seconds(o.CPU), size(o.WatchBytesPerSecond)+"/s")
	}
	return t
}

// table is what was measured, by the letters of the formulas.
func (u *Units) table() table {
	t := newTable("units", "What the formulas consist of", "unit", "measured")
	t.Add("b: an object in a list", size(u.ListBytes))
	t.Add("e: a change of an object in a watch", size(u.EventBytes))
	t.Add("l: a renewal in a watch of Leases", size(u.LeaseBytes))
	t.Add("h: heap of an object that a replica keeps", size(u.HeapBytes))
	t.Add("p: processor of a replica for a change that it receives", micros(u.EventSeconds))
	t.Add("k: an object in a list with the filter, from the request to the cache", micros(u.KeepSeconds))
	t.Add("s: an object in a list without the filter", micros(u.SkipSeconds))
	return t
}

// micros returns a short time.
func micros(x float64) string { return fmt.Sprintf("%.1f µs", x*1e6) }

// formulas is how the costs are calculated.
func formulas() table {
	t := newTable("formulas", "Formulas", "cost", "filter on", "filter off")
	for _, f := range Formulas {
		t.Add(f.Cost, f.With, f.Without)
	}
	return t
}

// clusters are those that are calculated: what was measured, and ten times as many objects
// for eight times as many replicas, with as many parts and with ten times as many. Changes
// grow with the objects.
func (r *Result) clusters() (all []Cluster) {
	for _, filter := range []bool{true, false} {
		run := r.run(filter)
		small := Cluster{Objects: run.Objects, Replicas: run.Replicas, Parts: run.Parts, Changes: float64(run.Rate), Lease: r.Lease, Filter: filter}
		large := small
		large.Objects, large.Replicas, large.Parts = 1_000_000, 64, 64
		large.Changes = small.Changes * float64(large.Objects) / float64(small.Objects)
		many := large
		many.Parts = 640
		all = append(all, small, large, many)
	}
	return all
}

// calculated is a column per cluster.
func (r *Result) calculated(u *Units) table {
	t := newTable("calculated", "Calculated", "")
	columns := make([][]string, 0, 6)
	for _, c := range r.clusters() {
		t.Header = append(t.Header, "filter "+onOff(c.Filter))
		costs := u.Costs(c)
		columns = append(columns, costs.cells())
	}
	about := func(name string, cell func(c Cluster) string) {
		cells := []string{name}
		for _, c := range r.clusters() {
			cells = append(cells, cell(c))
		}
		t.Add(cells...)
	}
	about("M, objects", func(c Cluster) string { return amount(float64(c.Objects)) })
	about("N, replicas", func(c Cluster) string { return strconv.Itoa(c.Replicas) })
	about("R, parts", func(c Cluster) string { return strconv.Itoa(c.Parts) })
	about("C, changes", func(c Cluster) string { return amount(c.Changes) + "/s" })
	for i, f := range Formulas {
		cells := []string{f.Cost}
		for _, c := range columns {
			cells = append(cells, c[i])
		}
		t.Add(cells...)
	}
	return t
}

// how describes a measurement in a sentence.
func (r *Result) how() string {
	text := fmt.Sprintf("%s, %s, %d × %s; LeaseDuration %v. ", r.Host.Go, r.Host.Platform, r.Host.Cores, r.Host.CPU, r.Lease.Round(time.Second))
	switch {
	case r.Load >= 1:
		return text + fmt.Sprintf("Taken beside other load (%.1f processes wanted a core in the minute before): do not rely on times, nor on the processor's.", r.Load)
	default:
		return text + "Nothing else was running."
	}
}
