package informertest

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podSummary is what a table shows of the containers of a pod.
type podSummary struct {
	status       string
	ready, total int
	restarts     int64
	lastRestart  time.Time
	initializing bool
	running      bool   // a container runs
	failed       string // why one has failed
}

// podReady is the cell Ready of a Pod: ready containers out of all.
func podReady(pod map[string]any) any {
	s := summaryOf(pod)
	return fmt.Sprintf("%d/%d", s.ready, s.total)
}

func podStatus(pod map[string]any) any { return summaryOf(pod).status }

// podRestarts is the cell Restarts of a Pod, with the age of the last one.
func podRestarts(pod map[string]any) any {
	s := summaryOf(pod)
	if s.restarts == 0 || s.lastRestart.IsZero() {
		return strconv.FormatInt(s.restarts, 10)
	}
	return fmt.Sprintf("%d (%v ago)", s.restarts, age(s.lastRestart.Format(time.RFC3339)))
}

// summaryOf looks at the init containers, then, once these have ended, at the others.
func summaryOf(pod map[string]any) podSummary {
	s := podSummary{status: stringAt(pod, "status", "phase"), total: len(objectsAt(pod, "spec", "containers"))}
	if reason := stringAt(pod, "status", "reason"); reason != "" {
		s.status = reason
	}
	for _, c := range objectsAt(pod, "status", "conditions") {
		if c["type"] == "PodScheduled" && c["reason"] == "SchedulingGated" {
			s.status = "SchedulingGated"
		}
	}
	sidecars := s.initContainers(pod)
	if !s.initializing || conditionIs(pod, "Initialized", "True") {
		s.restarts, s.lastRestart = sidecars.restarts, sidecars.lastRestart
		s.containers(pod)
	}
	phase := stringAt(pod, "status", "phase")
	switch deleted := at(pod, "metadata", "deletionTimestamp") != nil; {
	case deleted && stringAt(pod, "status", "reason") == "NodeLost":
		s.status = "Unknown"
	case deleted && phase != "Succeeded" && phase != "Failed":
		s.status = "Terminating"
	}
	return s
}

// rowConditions mark a pod that has ended, so that clients may leave it out.
func rowConditions(pod map[string]any) []metav1.TableRowCondition {
	message, ended := map[string]string{"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}[stringAt(pod, "status", "phase")]
	if !ended {
		return nil
	}
	return []metav1.TableRowCondition{{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: stringAt(pod, "status", "phase"), Message: message,
	}}
}

// count adds the restarts of a container.
func (s *podSummary) count(container map[string]any) {
	s.restarts += numberAt(container, "restartCount")
	ended, err := time.Parse(time.RFC3339, stringAt(container, "lastState", "terminated", "finishedAt"))
	if err == nil && ended.After(s.lastRestart) {
		s.lastRestart = ended
	}
}

// initContainers finds the first init container that has not done its part, and
// returns the restarts of those that go on beside the other containers.
func (s *podSummary) initContainers(pod map[string]any) (sidecars podSummary) {
	specs := objectsAt(pod, "spec", "initContainers")
	restartable := map[any]bool{}
	for _, c := range specs {
		if c["restartPolicy"] == "Always" {
			restartable[c["name"]] = true
			s.total++
		}
	}
	for i, c := range objectsAt(pod, "status", "initContainerStatuses") {
		s.count(c)
		if restartable[c["name"]] {
			sidecars.count(c)
		}
		terminated, _ := at(c, "state", "terminated").(map[string]any)
		waiting := stringAt(c, "state", "waiting", "reason")
		switch {
		case terminated != nil && numberAt(terminated, "exitCode") == 0:
			continue
		case restartable[c["name"]] && c["started"] == true:
			if c["ready"] == true {
				s.ready++
			}
			continue
		case terminated != nil:
			s.status = "Init:" + endOf(terminated)
		case waiting != "" && waiting != "PodInitializing":
			s.status = "Init:" + waiting
		default:
			s.status = fmt.Sprintf("Init:%d/%d", i, len(specs))
		}
		s.initializing = true
		return sidecars
	}
	return sidecars
}

// containers finds out what the pod is doing. The first container decides.
func (s *podSummary) containers(pod map[string]any) {
	statuses := objectsAt(pod, "status", "containerStatuses")
	for i := len(statuses) - 1; i >= 0; i-- {
		c := statuses[i]
		s.count(c)
		terminated, _ := at(c, "state", "terminated").(map[string]any)
		waiting := stringAt(c, "state", "waiting", "reason")
		switch {
		case waiting != "":
			s.status = waiting
		case terminated != nil:
			s.status = endOf(terminated)
			if numberAt(terminated, "exitCode") != 0 {
				s.failed = s.status
			}
		case c["ready"] == true && at(c, "state", "running") != nil:
			s.running = true
			s.ready++
		}
	}
	if s.status != "Completed" {
		return
	}
	switch {
	case s.running && conditionIs(pod, "Ready", "True"):
		s.status = "Running"
	case s.failed != "":
		s.status = s.failed
	case s.running:
		s.status = "NotReady"
	}
}

// endOf is how a container has ended.
func endOf(terminated map[string]any) string {
	if reason := stringAt(terminated, "reason"); reason != "" {
		return reason
	}
	if signal := numberAt(terminated, "signal"); signal != 0 {
		return fmt.Sprintf("Signal:%d", signal)
	}
	return fmt.Sprintf("ExitCode:%d", numberAt(terminated, "exitCode"))
}
