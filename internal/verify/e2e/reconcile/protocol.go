package reconcile

import "time"

// The measuring process and the controller's process talk in lines of JSON: an
// order on the standard input, an answer on the standard output. When the input
// ends, the controller's process does.

// order is what a controller's process is to do. Exactly one field is set.
type order struct {
	Start     *startOrder `json:"start,omitempty"`
	Begin     int         `json:"begin,omitempty"`     // send the requests for so many more sets; see RequestsAlone
	Reconcile int         `json:"reconcile,omitempty"` // answer when so many sets have been reconciled
	Sample    bool        `json:"sample,omitempty"`    // answer with what has been used so far
	Live      bool        `json:"live,omitempty"`      // answer with what is live on heap and stacks
	Events    bool        `json:"events,omitempty"`    // answer with what the probes recorded
}

// startOrder asks for a controller and for an answer when its caches are synced.
type startOrder struct {
	Side       Side   `json:"side"`
	Kubeconfig string `json:"kubeconfig"`
	Namespace  string `json:"namespace"`
	Workers    int    `json:"workers"`
	// Profile is where profiles go, from the sync to the end, without the ending of their
	// files; "" is none.
	Profile string `json:"profile,omitempty"`
}

// answer is what comes back.
type answer struct {
	Error  string    `json:"error,omitempty"`
	At     time.Time `json:"at"` // when what was asked for had happened
	Sample *usage    `json:"sample,omitempty"`
	Live   uint64    `json:"live,omitempty"`
	Events *events   `json:"events,omitempty"`
}

// usage is what the process has used, and done, since it began.
type usage struct {
	CPU        time.Duration  `json:"cpu"`
	Allocs     uint64         `json:"allocs"`
	Bytes      uint64         `json:"bytes"`
	Reconciles int            `json:"reconciles"`
	Requests   map[string]int `json:"requests"`
}

// events are what the probes recorded, in the order of time for each set.
type events struct {
	Handled     map[string][]handled   `json:"handled"`
	Reconciling map[string][]time.Time `json:"reconciling"`
}

// handled is a call of the handler with a set.
type handled struct {
	Generation int64     `json:"generation"`
	At         time.Time `json:"at"`
}
