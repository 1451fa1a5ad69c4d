package informertest

import (
	"slices"
	"sync"
	"time"
)

// keptRequests bounds the log of requests.
const keptRequests = 10_000

// Request is what the server remembers of a request to a resource.
type Request struct {
	// Verb is get, list, watch, create, update, patch, delete or
	// deletecollection, as in RBAC rules.
	Verb string
	// Group, Version and Resource name the collection.
	Group, Version, Resource string
	// Namespace and Name are empty where the request names none.
	Namespace, Name string
	// Subresource is such as "status" or "scale", or empty.
	Subresource string
	// Query is the raw query.
	Query string
	// UserAgent is the client's name for itself.
	UserAgent string
	// Time is when the request arrived.
	Time time.Time
}

// requestLog keeps the latest requests and counts all.
type requestLog struct {
	mu     sync.Mutex
	recent []Request
	counts map[[2]string]int // by verb and resource
	// checked are the rights beyond the verb that a server with the admission plugin
	// OwnerReferencesPermissionEnforcement asks for, in the form of requests.
	checked []Request
}

// check records such a right.
func (l *requestLog) check(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.checked) >= 2*keptRequests {
		l.checked = slices.Clone(l.checked[len(l.checked)-keptRequests:])
	}
	l.checked = append(l.checked, r)
}

// add records a request. The log is cut to keptRequests once it is twice as long, so
// that an add costs constant time on average. The counts are never cut.
func (l *requestLog) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.recent) >= 2*keptRequests {
		l.recent = slices.Clone(l.recent[len(l.recent)-keptRequests:])
	}
	l.recent = append(l.recent, r)
	if l.counts == nil {
		l.counts = map[[2]string]int{}
	}
	l.counts[[2]string{r.Verb, r.Resource}]++
}

// Requests returns the requests to resources in the order of their arrival, at
// least the latest 10,000 of them.
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return slices.Clone(s.log.recent)
}

// Count returns how many requests of a verb there were for a resource, by its
// plural name. An empty verb or resource means any.
func (s *Server) Count(verb, resource string) int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	n := 0
	for k, c := range s.log.counts {
		if (verb == "" || verb == k[0]) && (resource == "" || resource == k[1]) {
			n += c
		}
	}
	return n
}

// ResetRequests forgets all requests and counts.
func (s *Server) ResetRequests() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.recent, s.log.counts, s.log.checked = nil, nil, nil
}
