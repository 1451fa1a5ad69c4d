package shards

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Result is all that a run of the command has measured.
type Result struct {
	Host measure.Host `json:"host"`
	// Load is the average number of processes that wanted a core in the minute before.
	// On a quiet machine it is below 1; else times are not to be relied on.
	Load  float64       `json:"load"`
	Lease time.Duration `json:"leaseNanoseconds"`

	Runs      []Run      `json:"runs"`
	Scenarios []Scenario `json:"scenarios"`
	Owned     []Owned    `json:"owned"`
}

// NewResult returns a result of this machine, at this moment.
func NewResult() Result {
	r := Result{Host: measure.ThisHost()}
	r.Host.Versions = map[string]string{} // no other library takes part
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		r.Load, _ = strconv.ParseFloat(first, 64) // 0 if it cannot be read: not known
	}
	return r
}

// Read reads a result from a file.
func Read(file string) (r Result, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// Traffic is what replicas have sent and received. Bytes are those of the bodies, without
// compression.
type Traffic struct {
	// Lists counts the requests for a collection: lists, and watches that begin with it.
	Lists   int64 `json:"lists"`
	Watches int64 `json:"watches"`
	// ListBytes are those of collections, WatchBytes of the events that follow, and
	// LeaseBytes all that is about Leases.
	ListBytes  int64 `json:"listBytes"`
	WatchBytes int64 `json:"watchBytes"`
	LeaseBytes int64 `json:"leaseBytes"`
	// SessionWrites and RecordWrites are writes of Leases: of the sessions of replicas, and
	// of the records of parts.
	SessionWrites int64 `json:"sessionWrites"`
	RecordWrites  int64 `json:"recordWrites"`
	// Delivered are events that handlers got, Dropped objects of other ranges that were
	// received in vain.
	Delivered int64 `json:"delivered"`
	Dropped   int64 `json:"dropped"`
}

// Plus returns the sum of t and u.
func (t Traffic) Plus(u Traffic) Traffic { return t.add(u, 1) }

// Less returns t without u.
func (t Traffic) Less(u Traffic) Traffic { return t.add(u, -1) }

func (t Traffic) add(u Traffic, sign int64) Traffic {
	t.Lists += sign * u.Lists
	t.Watches += sign * u.Watches
	t.ListBytes += sign * u.ListBytes
	t.WatchBytes += sign * u.WatchBytes
	t.LeaseBytes += sign * u.LeaseBytes
	t.SessionWrites += sign * u.SessionWrites
	t.RecordWrites += sign * u.RecordWrites
	t.Delivered += sign * u.Delivered
	t.Dropped += sign * u.Dropped
	return t
}

// Phase is what all replicas, and the server, have used in a time.
type Phase struct {
	Traffic
	Seconds    float64 `json:"seconds"`
	Changes    int64   `json:"changes"`
	ServerCPU  float64 `json:"serverCPUSeconds"`
	ReplicaCPU float64 `json:"replicaCPUSeconds"`
	// MostBytes are those of the replica that received the most, and Listing is how many
	// replicas have read the collection.
	MostBytes int64 `json:"mostBytes"`
	Listing   int   `json:"listing"`
}

// Move is a change of the number of replicas, until parts are shared evenly again and are
// in the caches.
type Move struct {
	Kind     string `json:"kind"`     // join, leave or crash
	Replicas int    `json:"replicas"` // before
	Phase
	// Parts is how many have moved, of which Bound are promised to be the most.
	Parts int `json:"parts"`
	Bound int `json:"bound"`
	// Gap is the longest time for which a part was without a replica that works on it, and
	// Listed the longest for which a replica has waited for its first list of a part.
	Gap    float64 `json:"gapSeconds"`
	Listed float64 `json:"listedSeconds"`
}

// Latency is the time from a change to its reconcile, in seconds.
type Latency struct {
	Count  int     `json:"count"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Most   float64 `json:"most"`
}

// LatencyOf returns what is to be said of some times, whose order it changes.
func LatencyOf(all []time.Duration) Latency {
	if len(all) == 0 {
		return Latency{}
	}
	slices.Sort(all)
	at := func(percent int) float64 { return all[min(len(all)-1, len(all)*percent/100)].Seconds() }
	return Latency{len(all), at(50), at(99), at(100)}
}

// Run is replicas that share a collection, with or without the filter of the server.
type Run struct {
	Filter     bool   `json:"filter"`
	FilteredBy string `json:"filteredBy"` // as Health reports it
	Objects    int    `json:"objects"`
	Replicas   int    `json:"replicas"`
	Parts      int    `json:"parts"`
	Rate       int    `json:"rate"`
	// Start is from the start of the replicas until all parts are worked on.
	Start Phase `json:"start"`
	// Heap is what all replicas keep, before the changes.
	Heap int64 `json:"heapBytes"`
	// MostObjects is the number in the largest cache.
	MostObjects int `json:"mostObjects"`
	// Steady is a time of changes at the rate, without moves.
	Steady  Phase   `json:"steady"`
	Latency Latency `json:"latency"`
	Moves   []Move  `json:"moves"`
}

// Scenario is one of those of timebertt/kubernetes-controller-sharding.
type Scenario struct {
	Name       string  `json:"name"`
	Does       string  `json:"does"`
	Objects    int     `json:"objects"`
	Seconds    float64 `json:"seconds"`
	Changes    int64   `json:"changes"`
	Reconciles int     `json:"reconciles"`
	// Double is how often two replicas worked on an object at once, and Missed how many
	// objects nobody had reconciled in their last version.
	Double     int     `json:"double"`
	Missed     int     `json:"missed"`
	PartsMoved int     `json:"partsMoved"`
	Gap        float64 `json:"gapSeconds"`
	Latency    Latency `json:"latency"`
}

// Owned is a way to read owners and what they own, for one of the replicas.
type Owned struct {
	Way      string `json:"way"`
	Filter   bool   `json:"filter"`
	Owners   int    `json:"owners"` // of all replicas, with one child each
	Replicas int    `json:"replicas"`
	Rate     int    `json:"rate"`
	// Lists and ListBytes are of both kinds, as are Heap and CPU.
	Lists     int64   `json:"lists"`
	ListBytes int64   `json:"listBytes"`
	Heap      int64   `json:"heapBytes"`
	CPU       float64 `json:"cpuSeconds"`
	Seconds   float64 `json:"seconds"`
	// OwnersHeld and ChildrenHeld are in the caches, Apart the children among them whose
	// owner is not.
	OwnersHeld   int `json:"ownersHeld"`
	ChildrenHeld int `json:"childrenHeld"`
	Apart        int `json:"apart"`
	// WatchBytesPerSecond are those of changes of children, at the rate.
	WatchBytesPerSecond float64 `json:"watchBytesPerSecond"`
}
