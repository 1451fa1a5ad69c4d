package defaults

import "math"

var deployment = rules{
	{"spec.replicas", 1},
	{"spec.strategy", object{}},
	{"spec.strategy.type", "RollingUpdate"},
	{"spec.strategy.rollingUpdate", when("type", "RollingUpdate", object{})},
	{"spec.strategy.rollingUpdate", rules{{"maxSurge", "25%"}, {"maxUnavailable", "25%"}}},
	{"spec.revisionHistoryLimit", 10},
	{"spec.progressDeadlineSeconds", 600},
	{"spec.template.spec", podSpec},
}

var replicaSet = rules{
	{"spec.replicas", 1},
	{"spec.template.spec", podSpec},
}

var statefulSet = rules{
	{"spec.replicas", 1},
	{"spec.podManagementPolicy", "OrderedReady"},
	{"spec.revisionHistoryLimit", 10},
	{"spec.updateStrategy", object{}},
	{"spec.updateStrategy.type", "RollingUpdate"},
	{"spec.updateStrategy.rollingUpdate", when("type", "RollingUpdate", object{})},
	{"spec.updateStrategy.rollingUpdate.partition", 0},
	{"spec.persistentVolumeClaimRetentionPolicy", object{}},
	{"spec.persistentVolumeClaimRetentionPolicy", rules{{"whenDeleted", "Retain"}, {"whenScaled", "Retain"}}},
	{"spec.volumeClaimTemplates[]", rules{{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}}},
	{"spec.volumeClaimTemplates[]", persistentVolumeClaim},
	{"spec.template.spec", podSpec},
}

var daemonSet = rules{
	{"spec.revisionHistoryLimit", 10},
	{"spec.updateStrategy", object{}},
	{"spec.updateStrategy.type", "RollingUpdate"},
	{"spec.updateStrategy.rollingUpdate", when("type", "RollingUpdate", object{})},
	{"spec.updateStrategy.rollingUpdate", rules{{"maxUnavailable", 1}, {"maxSurge", 0}}},
	{"spec.template.spec", podSpec},
}

var replicationController = rules{
	{"spec.replicas", 1},
	{"spec.selector", func(spec object) any { return templateLabels(spec) }},
	{"", edit(labelsOfTemplate)},
	{"spec.template.spec", podSpec},
}

// job leaves completions unset if the number of parallel pods alone is given:
// such a job ends with its first success.
var job = rules{
	{"spec.completions", func(spec object) any {
		if spec["parallelism"] == nil {
			return 1
		}
		return nil
	}},
	{"spec.parallelism", 1},
	{"spec.backoffLimit", func(spec object) any {
		if spec["backoffLimitPerIndex"] != nil {
			return math.MaxInt32
		}
		return 6
	}},
	{"spec.completionMode", "NonIndexed"},
	{"spec.suspend", false},
	{"spec.manualSelector", false},
	{"spec.podReplacementPolicy", whenPresent("podFailurePolicy", "Failed")},
	{"spec.podReplacementPolicy", "TerminatingOrFailed"},
	{"spec.podFailurePolicy.rules[].onPodConditions[].status", "True"},
	{"spec.template.spec", podSpec},
}

var cronJob = rules{
	{"spec.concurrencyPolicy", "Allow"},
	{"spec.suspend", false},
	{"spec.successfulJobsHistoryLimit", 3},
	{"spec.failedJobsHistoryLimit", 1},
	{"spec.jobTemplate.spec.template.spec", podSpec},
}

var horizontalPodAutoscaler = rules{
	{"spec.minReplicas", 1},
	{"spec.metrics", []any{object{"type": "Resource", "resource": object{
		"name": "cpu", "target": object{"type": "Utilization", "averageUtilization": 80},
	}}}},
	{"spec.behavior", rules{
		{"scaleUp", object{}},
		{"scaleUp", rules{
			{"stabilizationWindowSeconds", 0},
			{"selectPolicy", "Max"},
			{"policies", []any{
				object{"type": "Pods", "value": 4, "periodSeconds": 15},
				object{"type": "Percent", "value": 100, "periodSeconds": 15},
			}},
		}},
		{"scaleDown", object{}},
		{"scaleDown", rules{
			{"selectPolicy", "Max"},
			{"policies", []any{object{"type": "Percent", "value": 100, "periodSeconds": 15}}},
		}},
	}},
}

// templateLabels are the labels of the template in a specification, or nil.
func templateLabels(spec object) any {
	template, _ := spec["template"].(object)
	meta, _ := template["metadata"].(object)
	if labels, ok := meta["labels"].(object); ok && len(labels) > 0 {
		return labels
	}
	return nil
}

// labelsOfTemplate labels an object that has no labels as its pods.
func labelsOfTemplate(o object) {
	spec, _ := o["spec"].(object)
	meta, _ := o["metadata"].(object)
	if have, _ := meta["labels"].(object); meta != nil && len(have) == 0 {
		if labels := templateLabels(spec); labels != nil {
			meta["labels"] = jsonValue(labels)
		}
	}
}
