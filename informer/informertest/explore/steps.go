package explore

import (
	"fmt"
	"github.com/informerkit/informerkit/informer/informertest"
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// othersTime is how long the rest of the cluster takes. Without it, a controller that
// creates what the garbage collector deletes would do so for ever at one point in time.
const othersTime = time.Second

// others lets the rest of the cluster act, and reports whether that changed anything.
func (r *run) others() bool {
	before := r.server.ResourceVersion()
	if before == r.quietAt || time.Since(r.othersActed) < othersTime {
		return false
	}
	r.othersActed = time.Now()
	did := "others act"
	err := r.guard("Others", func() {
		if r.subject.Others != nil {
			r.subject.Others(r.server)
		} else {
			did = cluster(r.server)
		}
	})
	if err != nil {
		r.mistake = err
		return false
	}
	if r.server.ResourceVersion() == before {
		r.quietAt = before
		return false
	}
	r.changed("cluster", did)
	return true
}

// cluster is what Others does by default. It returns what it did.
func cluster(s *informertest.Server) string {
	var did []string
	for _, step := range []struct {
		kind informertest.PodStep
		what string
	}{{informertest.PodsReady, "%d pods become ready"}, {informertest.PodsTerminate, "%d pods end"}} {
		n, err := s.StepPods(step.kind, "", nil)
		if err != nil {
			panic(err)
		}
		if n > 0 {
			did = append(did, fmt.Sprintf(step.what, n))
		}
	}
	before := s.ResourceVersion()
	if err := s.CollectGarbage(); err != nil {
		panic(err)
	}
	if s.ResourceVersion() != before {
		did = append(did, "garbage is collected")
	}
	return strings.Join(did, ", ")
}

// changed notes a change of others than the controller.
func (r *run) changed(who, what string) {
	r.mu.Lock()
	r.lastWork = time.Now()
	r.writes = append(r.writes, Write{By: who, Verb: what})
	r.rules.reset()
	r.note(event{who: who, kind: eventStep, text: what})
	r.mu.Unlock()
	r.always()
}

// always asks the subject whether the state is right.
func (r *run) always() {
	if r.subject.Always == nil {
		return
	}
	var wrong error
	if err := r.guard("Always", func() { wrong = r.subject.Always(r.view()) }); err != nil {
		r.mistake = err
	}
	if wrong != nil {
		r.fail(ruleAlways, wrong.Error())
	}
}

func (r *run) view() View {
	r.mu.Lock()
	defer r.mu.Unlock()
	return View{server: r.server, writes: slices.Clip(r.writes)}
}

// users carries out the users' next step if it is time for it.
func (r *run) users() bool {
	r.mu.Lock()
	ready := r.step != nil && time.Since(r.lastWork) >= r.step.after && (r.step.do != nil || !r.disturbedLocked())
	r.mu.Unlock()
	return ready && r.userStep()
}

// userStep carries out the users' next step.
func (r *run) userStep() bool {
	r.mu.Lock()
	s := r.step
	r.step = nil
	if s.do != nil {
		r.stepsN++
		for _, f := range r.dueLocked('a', r.stepsN) {
			r.cutLocked(f)
		}
	}
	r.mu.Unlock()
	if s.do != nil {
		before := r.server.ResourceVersion()
		if err := s.do(); err != nil && !isGone(err) {
			r.mistake = fmt.Errorf("explore: step %q of Act: %w", s.what, err)
		}
		if r.server.ResourceVersion() != before {
			r.changed("user", s.what)
		}
		r.mu.Lock()
		for i := range r.gaps {
			r.gaps[i].steps--
		}
		r.mu.Unlock()
	}
	close(s.done)
	synctest.Wait() // Act gets to its next step
	return true
}

// eventually asks the subject whether the state is the wanted one.
func (r *run) eventually() (wrong error) {
	if r.subject.Eventually == nil {
		return nil
	}
	if err := r.guard("Eventually", func() { wrong = r.subject.Eventually(r.view()) }); err != nil {
		r.mistake = err
	}
	return wrong
}
