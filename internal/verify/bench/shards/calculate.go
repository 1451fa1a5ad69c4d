package shards

import (
	"errors"
	"time"
)

// Cluster is what the costs of a group of replicas depend on.
type Cluster struct {
	Objects  int           // M, of the collection
	Replicas int           // N
	Parts    int           // R
	Changes  float64       // C, changes of objects per second
	Lease    time.Duration // L
	Filter   bool          // whether the server filters
}

// Units are what the costs consist of, as they were measured.
type Units struct {
	ListBytes    float64 // of an object in a list
	EventBytes   float64 // of a change of an object in a watch
	LeaseBytes   float64 // of a renewal in a watch of Leases
	HeapBytes    float64 // of an object that a replica keeps
	KeepSeconds  float64 // of an object in a list with the filter, from the request to the cache
	SkipSeconds  float64 // of an object in a list without the filter, most of which are dropped
	EventSeconds float64 // of a replica's processor, for a change that it receives and drops or keeps
}

// Units returns what was measured, from the runs with and without the filter.
func (r *Result) Units() (u Units, err error) {
	with, without := r.run(true), r.run(false)
	if with == nil || without == nil {
		return u, errors.New("the units follow from a run with the filter of the server and one without; measure with -gate both")
	}
	join, other, leave := with.move("join"), without.move("join"), without.move("leave")
	switch {
	case join == nil || other == nil || leave == nil:
		return u, errors.New("the units follow from replicas that join and leave, and there are none")
	case leave.Lists == 0 || without.Steady.Changes == 0 || with.Steady.SessionWrites == 0:
		return u, errors.New("the units follow from lists, changes and renewals, and one of them is missing; measure for longer, with -seconds")
	}
	objects := float64(with.Objects)
	received := float64(without.Steady.Changes * int64(without.Replicas)) // each replica receives each change
	// Not of the start, when some lists are given up for others with more parts.
	u.ListBytes = float64(leave.ListBytes) / (float64(leave.Lists) * objects)
	u.EventBytes = float64(without.Steady.WatchBytes) / received
	u.LeaseBytes = float64(with.Steady.LeaseBytes) / float64(with.Steady.SessionWrites*int64(with.Replicas))
	u.HeapBytes = float64(with.Heap) / objects
	u.KeepSeconds = join.Listed / (objects / float64(with.Replicas+1))
	u.SkipSeconds = other.Listed / objects
	u.EventSeconds = without.Steady.ReplicaCPU / received
	return u, nil
}

// run returns the run with or without the filter, or nil.
func (r *Result) run(filter bool) *Run {
	for i := range r.Runs {
		if r.Runs[i].Filter == filter {
			return &r.Runs[i]
		}
	}
	return nil
}

// move returns the move of a kind, or nil.
func (r *Run) move(kind string) *Move {
	for i := range r.Moves {
		if r.Moves[i].Kind == kind {
			return &r.Moves[i]
		}
	}
	return nil
}

// renewals is how many times a session is renewed in a LeaseDuration: the default of
// sharding.Options.RenewInterval.
const renewals = 6

// handover is the promise of a hand-over without the list that follows, and of what comes
// on top of the LeaseDuration after a crash.
const handover = time.Second

// Costs is what a cluster costs.
type Costs struct {
	WatchReplica  float64 // bytes per second that a replica receives for changes
	WatchServer   float64 // bytes per second that the server sends for them
	Comparisons   float64 // of an object with the selector of a watch, per second, by the server
	EventCores    float64 // of a replica, for the changes that it receives
	LeaseWrites   float64 // per second, of all replicas
	LeaseServer   float64 // bytes per second that the server sends for them
	HeapReplica   float64 // bytes, the most
	JoinBytes     float64 // of the lists of a replica that joins: the most
	LeaveListers  float64 // replicas that list when another one leaves
	LeaveBytes    float64 // of all their lists
	LeaveScanned  float64 // objects that the server looks at for them
	RecordsJoin   float64 // writes of records
	RecordsLeave  float64
	JoinSeconds   float64 // until parts are worked on again: the most
	LeaveSeconds  float64
	CrashSeconds  float64
	KeysMovedJoin float64 // the most
}

// Formulas says how each of the costs is calculated, in the order of the table.
var Formulas = []struct{ Cost, With, Without string }{
	{"watches of objects, each replica", "C·e / N", "C·e"},
	{"watches of objects, sent by the server", "C·e", "N·C·e"},
	{"comparisons of a change with a watch, by the server", "N·C", "N·C"},
	{"cores of a replica for changes", "C·p / N", "C·p"},
	{"Lease writes, all replicas", "N·6 / L", "N·6 / L"},
	{"watches of Leases, sent by the server", "N²·6 / L · l", "N²·6 / L · l"},
	{"heap of a replica for objects, at most", "M·h·(1/N + 1/R)", "the same"},
	{"keys that move with one replica, at most", "⌈R/N⌉·M/R", "the same"},
	{"a replica joins: bytes of its lists, of which there are two at most", "2·M/N · b", "2·M·b"},
	{"a replica leaves: replicas that list", "G = min(N−1, ⌈R/N⌉)", "the same"},
	{"a replica leaves: bytes of a list of each", "G·M/(N−1) · b", "G·M·b"},
	{"a replica leaves: objects that the server goes through", "G·M", "G·M"},
	{"a replica joins: writes of records", "2·⌊R/N⌋", "the same"},
	{"a replica leaves: writes of records", "2·⌈R/N⌉", "the same"},
	{"a replica joins: until all is worked on", "1 s + M/N · k", "1 s + M·s"},
	{"a replica leaves: until all is worked on", "1 s + M/(N−1) · k", "1 s + M·s"},
	{"a replica crashes: until all is worked on", "L + the same", "L + the same"},
}

// Costs returns what a cluster costs, by the formulas. The replica that joins or leaves is
// one of the N.
func (u *Units) Costs(c Cluster) (x Costs) {
	m, n, r := float64(c.Objects), float64(c.Replicas), float64(c.Parts)
	most := float64((c.Parts + c.Replicas - 1) / c.Replicas)
	seen, each := n, 1/n // replicas that receive a change; the part of the objects that one lists
	per := u.KeepSeconds
	after := 1 / (n - 1)
	if !c.Filter {
		each, after, per = 1, 1, u.SkipSeconds
	} else {
		seen = 1
	}
	x.WatchServer = c.Changes * u.EventBytes * seen
	x.WatchReplica = x.WatchServer / n
	x.Comparisons = n * c.Changes
	x.EventCores = c.Changes * u.EventSeconds * seen / n
	x.LeaseWrites = n * renewals / c.Lease.Seconds()
	x.LeaseServer = n * x.LeaseWrites * u.LeaseBytes
	x.HeapReplica = m * u.HeapBytes * min(1, 1/n+1/r)
	x.KeysMovedJoin = most * m / r
	x.JoinBytes = 2 * m * each * u.ListBytes
	x.LeaveListers = min(n-1, most)
	x.LeaveBytes = x.LeaveListers * m * after * u.ListBytes
	x.LeaveScanned = x.LeaveListers * m
	x.RecordsJoin = 2 * float64(c.Parts/c.Replicas)
	x.RecordsLeave = 2 * most
	x.JoinSeconds = handover.Seconds() + m*each*per
	x.LeaveSeconds = handover.Seconds() + m*after*per
	x.CrashSeconds = c.Lease.Seconds() + x.LeaveSeconds
	return x
}

// cells are the costs in the order of Formulas.
func (x *Costs) cells() []string {
	return []string{
		size(x.WatchReplica) + "/s", size(x.WatchServer) + "/s", amount(x.Comparisons) + "/s", number(x.EventCores),
		number(x.LeaseWrites) + "/s", size(x.LeaseServer) + "/s", size(x.HeapReplica), amount(x.KeysMovedJoin),
		size(x.JoinBytes), number(x.LeaveListers), size(x.LeaveBytes), amount(x.LeaveScanned),
		number(x.RecordsJoin), number(x.RecordsLeave), seconds(x.JoinSeconds), seconds(x.LeaveSeconds), seconds(x.CrashSeconds),
	}
}
