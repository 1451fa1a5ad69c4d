package defaults

import (
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	apps      = "apps"
	batch     = "batch"
	admission = "admissionregistration.k8s.io"
	network   = "networking.k8s.io"
	rbac      = "rbac.authorization.k8s.io"
	storage   = "storage.k8s.io"
	flow      = "flowcontrol.apiserver.k8s.io"
)

// kinds are the tables of all kinds that have defaults.
var kinds = map[schema.GroupKind]rules{
	kind("", "Pod"):                   pod,
	kind("", "PodTemplate"):           {{"template.spec", podSpec}},
	kind("", "ReplicationController"): replicationController,
	kind("", "Service"):               service,
	kind("", "Secret"):                {{"type", "Opaque"}, {"", edit(stringData)}},
	kind("", "Endpoints"):             {{"subsets[].ports[].protocol", "TCP"}},
	kind("", "PersistentVolumeClaim"): persistentVolumeClaim,
	kind("", "PersistentVolume"):      persistentVolume,
	kind("", "LimitRange"):            {{"spec.limits[]", edit(limits)}},
	kind("", "Namespace"): {
		{"status", object{}},
		{"status.phase", "Active"},
	},

	kind(apps, "Deployment"):                          deployment,
	kind(apps, "ReplicaSet"):                          replicaSet,
	kind(apps, "StatefulSet"):                         statefulSet,
	kind(apps, "DaemonSet"):                           daemonSet,
	kind(batch, "Job"):                                job,
	kind(batch, "CronJob"):                            cronJob,
	kind("autoscaling", "HorizontalPodAutoscaler"):    horizontalPodAutoscaler,
	kind("discovery.k8s.io", "EndpointSlice"):         {{"ports[]", rules{{"name", ""}, {"protocol", "TCP"}}}},
	kind("scheduling.k8s.io", "PriorityClass"):        {{"preemptionPolicy", "PreemptLowerPriority"}},
	kind(network, "IngressClass"):                     {{"spec.parameters.scope", "Cluster"}},
	kind(network, "NetworkPolicy"):                    networkPolicy,
	kind(rbac, "RoleBinding"):                         roleBinding,
	kind(rbac, "ClusterRoleBinding"):                  roleBinding,
	kind(storage, "StorageClass"):                     {{"reclaimPolicy", "Delete"}, {"volumeBindingMode", "Immediate"}},
	kind(storage, "CSIDriver"):                        csiDriver,
	kind(admission, "ValidatingWebhookConfiguration"): {{"webhooks[]", webhook}},
	kind(admission, "MutatingWebhookConfiguration"): {
		{"webhooks[]", webhook},
		{"webhooks[].reinvocationPolicy", "Never"},
	},
	kind(admission, "ValidatingAdmissionPolicy"):        {{"spec.failurePolicy", "Fail"}, {"spec.matchConstraints", matchResources}},
	kind(admission, "ValidatingAdmissionPolicyBinding"): {{"spec.matchResources", matchResources}},
	kind("resource.k8s.io", "ResourceClaim"):            {{"spec.devices.requests[]", deviceRequest}},
	kind("resource.k8s.io", "ResourceClaimTemplate"):    {{"spec.spec.devices.requests[]", deviceRequest}},
	kind(flow, "FlowSchema"):                            {{"spec.matchingPrecedence", 1000}},
	kind(flow, "PriorityLevelConfiguration"):            priorityLevel,
	kind("apiextensions.k8s.io", "CustomResourceDefinition"): {
		{"spec.conversion", object{}},
		{"spec.conversion.strategy", "None"},
	},
}

// created are the tables of what admission adds to new objects.
var created = map[schema.GroupKind]rules{
	kind("", "Pod"):  podCreated,
	kind("", "Node"): {{"spec", object{}}, {"spec", edit(notReadyYet)}},
	kind(apps, "DaemonSet"): {
		{"metadata.annotations", object{}},
		{"metadata.annotations", edit(func(a object) { a["deprecated.daemonset.template.generation"] = "1" })},
	},
}

var deviceRequest = rules{
	{"exactly", deviceCount},
	{"firstAvailable[]", deviceCount},
}

// deviceCount is one device, unless all of a kind are wanted.
var deviceCount = rules{
	{"allocationMode", "ExactCount"},
	{"count", when("allocationMode", "ExactCount", 1)},
}

var persistentVolumeClaim = rules{
	{"spec.volumeMode", "Filesystem"},
	{"status", object{}},
	{"status.phase", "Pending"},
}

var persistentVolume = rules{
	{"spec.persistentVolumeReclaimPolicy", "Retain"},
	{"spec.volumeMode", "Filesystem"},
	{"spec", volume[1:]},
	{"status", object{}},
	{"status.phase", "Pending"},
}

var networkPolicy = rules{
	{"spec.ingress[].ports[].protocol", "TCP"},
	{"spec.egress[].ports[].protocol", "TCP"},
	{"spec.policyTypes", func(spec object) any {
		if egress, _ := spec["egress"].([]any); len(egress) > 0 {
			return []any{"Ingress", "Egress"}
		}
		return []any{"Ingress"}
	}},
}

var roleBinding = rules{
	{"roleRef.apiGroup", rbac},
	{"subjects[].apiGroup", when("kind", "User", rbac)},
	{"subjects[].apiGroup", when("kind", "Group", rbac)},
}

var csiDriver = rules{
	{"spec.attachRequired", true},
	{"spec.podInfoOnMount", false},
	{"spec.storageCapacity", false},
	{"spec.requiresRepublish", false},
	{"spec.seLinuxMount", false},
	{"spec.fsGroupPolicy", "ReadWriteOnceWithFSType"},
	{"spec.volumeLifecycleModes", []any{"Persistent"}},
}

var webhook = rules{
	{"failurePolicy", "Fail"},
	{"timeoutSeconds", 10},
	{"clientConfig.service.port", 443},
	{"rules[].scope", "*"},
	{"matchPolicy", "Equivalent"},
	{"namespaceSelector", object{}},
	{"objectSelector", object{}},
}

var matchResources = rules{
	{"matchPolicy", "Equivalent"},
	{"namespaceSelector", object{}},
	{"objectSelector", object{}},
	{"resourceRules[].scope", "*"},
}

var priorityLevel = rules{
	{"spec.limited", rules{
		{"nominalConcurrencyShares", 30},
		{"lendablePercent", 0},
		{"limitResponse.queuing", rules{{"queues", 64}, {"handSize", 8}, {"queueLengthLimit", 50}}},
	}},
	{"spec.exempt", rules{{"nominalConcurrencyShares", 0}, {"lendablePercent", 0}}},
}

// limits completes the limits of containers from one another.
func limits(item object) {
	if item["type"] != "Container" {
		return
	}
	fill := func(to string, from ...string) {
		target, ok := item[to].(object)
		if !ok {
			target = object{}
		}
		for _, name := range from {
			source, _ := item[name].(object)
			for resource, quantity := range source {
				if _, ok := target[resource]; !ok {
					target[resource] = quantity
				}
			}
		}
		if len(target) > 0 {
			item[to] = target
		}
	}
	fill("default", "max")
	fill("defaultRequest", "default", "min")
}

// notReadyYet keeps pods off a new node until a controller finds it ready.
func notReadyYet(spec object) {
	taints, _ := spec["taints"].([]any)
	if slices.ContainsFunc(taints, func(t any) bool {
		taint, _ := t.(object)
		return taint["key"] == "node.kubernetes.io/not-ready" && taint["effect"] == "NoSchedule"
	}) {
		return
	}
	spec["taints"] = append(taints, object{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
}

// stringData turns the text that a client may write into a secret into data.
func stringData(secret object) {
	texts, ok := secret["stringData"].(object)
	if !ok {
		return
	}
	delete(secret, "stringData")
	data, ok := secret["data"].(object)
	if !ok {
		data = object{}
	}
	for name, v := range texts {
		if text, ok := v.(string); ok {
			data[name] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	if len(data) > 0 {
		secret["data"] = data
	}
}
