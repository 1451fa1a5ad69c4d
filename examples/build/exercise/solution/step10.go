package solution

import "time"

// Lease is what a Lease says.
type Lease struct {
	Holder  string
	Renewed time.Time // by the clock of the holder
}

// Free reports whether a replica may take the Lease, which it has seen unchanged since a time
// of its own clock. A Lease lasts 15 seconds. (Exercise 10.1)
func Free(lease Lease, me string, unchangedSince, now time.Time) bool {
	return lease.Holder == "" || lease.Holder == me || now.Sub(unchangedSince) >= 15*time.Second
}

// Leads reports whether a holder may still work, whose last renewal was sent and answered at
// these times. It has 10 seconds. (Exercise 10.2)
func Leads(sent, answered, now time.Time) bool {
	_ = answered // the server may have stored it right after it was sent
	return now.Sub(sent) < 10*time.Second
}
