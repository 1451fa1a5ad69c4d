package upstream

import "testing"

func TestWorkqueue(t *testing.T) {
	t.Parallel()
	suite{
		pkg:          "k8s.io/client-go/util/workqueue",
		replaced:     []string{"queue.go", "delaying_queue.go", "rate_limiting_queue.go"},
		declarations: []string{"queue.go.txt"},
		adapters:     []string{"queue.go", "clockdelays.go", "metrics.go"},
		excluded: map[string]string{
			"rate_limiting_queue_test.go": "it takes items out of the channel between AddAfter and client-go's goroutine",
		},
		differs: map[string]string{
			"TestCollapse":                "it gives the queue an order of its own, TypedQueueConfig.Queue",
			"TestCollapseWhileProcessing": "the same",
			"TestMetricShutdown":          "it gives the queue metrics that are not exported",
			"TestMetrics":                 "durations are those of the real clock, and it steps one of its own",
		},
	}.run(t)
}
