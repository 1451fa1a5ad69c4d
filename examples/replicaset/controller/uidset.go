package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// uidSet holds the UIDs of pods whose deletion the server has accepted and the
// cache may not show yet. The zero value is empty and ready to use; the methods
// may be called concurrently.
//
// An entry goes in before the request, so that the pod's Delete event, which
// takes it out again, cannot come first and leave it behind for ever.
type uidSet struct {
	mu   sync.Mutex
	uids map[types.UID]struct{}
}

func (s *uidSet) add(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uids == nil {
		s.uids = map[types.UID]struct{}{}
	}
	s.uids[uid] = struct{}{}
}

func (s *uidSet) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uids, uid)
}

func (s *uidSet) has(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.uids[uid]
	return ok
}
