package informertest

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// jobStatus is the cell Status of a Job. Conditions that are final come before a
// deletion, and that before those of a job that is still active.
func jobStatus(job map[string]any) any {
	switch {
	case conditionIs(job, "Complete", "True"):
		return "Complete"
	case conditionIs(job, "Failed", "True"):
		return "Failed"
	case at(job, "metadata", "deletionTimestamp") != nil:
		return "Terminating"
	}
	for _, kind := range []string{"Suspended", "FailureTarget", "SuccessCriteriaMet"} {
		if conditionIs(job, kind, "True") {
			return kind
		}
	}
	return "Running"
}

// jobCompletions is the cell Completions of a Job. A work queue (parallelism without
// completions) is complete with any one pod, hence "1 of".
func jobCompletions(job map[string]any) any {
	done, parallel := numberAt(job, "status", "succeeded"), numberAt(job, "spec", "parallelism")
	switch wanted, ok := at(job, "spec", "completions").(int64); {
	case ok:
		return fmt.Sprintf("%d/%d", done, wanted)
	case parallel > 1:
		return fmt.Sprintf("%d/1 of %d", done, parallel)
	}
	return fmt.Sprintf("%d/1", done)
}

// jobDuration is the cell Duration of a Job: to its completion, or until now.
func jobDuration(job map[string]any) any {
	started, err := time.Parse(time.RFC3339, stringAt(job, "status", "startTime"))
	if err != nil {
		return ""
	}
	if ended, err := time.Parse(time.RFC3339, stringAt(job, "status", "completionTime")); err == nil {
		return duration.HumanDuration(ended.Sub(started))
	}
	return duration.HumanDuration(time.Since(started))
}
