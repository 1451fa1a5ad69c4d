package informertest

import "strings"

// Traits of a built-in resource, as letters in the table below.
const (
	clusterScoped = 'c'
	hasStatus     = 's'
	noGeneration  = 'n'
)

// builtin is a row of the table of built-in resources.
type builtin struct {
	group, version, kind, plural, short, traits, fields string
}

// builtins are the resources of a cluster that controllers commonly touch. The
// objects are served as they are sent: without the defaults and the validation
// that a real API server applies to each of these kinds.
var builtins = []builtin{
	{"", "v1", "Namespace", "namespaces", "ns", "csn", "status.phase"},
	{"", "v1", "Node", "nodes", "no", "csn", "spec.unschedulable"},
	{"", "v1", "Pod", "pods", "po", "s", "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork status.phase status.podIP status.nominatedNodeName"},
	{"", "v1", "ConfigMap", "configmaps", "cm", "n", ""},
	{"", "v1", "Secret", "secrets", "", "n", "type"},
	{"", "v1", "Service", "services", "svc", "sn", "spec.clusterIP spec.type"},
	{"", "v1", "ServiceAccount", "serviceaccounts", "sa", "n", ""},
	{"", "v1", "Endpoints", "endpoints", "ep", "n", ""},
	{"", "v1", "Event", "events", "ev", "n", "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type"},
	{"", "v1", "PersistentVolume", "persistentvolumes", "pv", "csn", ""},
	{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "sn", ""},
	{"", "v1", "ReplicationController", "replicationcontrollers", "rc", "s", "status.replicas"},
	{"", "v1", "LimitRange", "limitranges", "limits", "n", ""},
	{"", "v1", "ResourceQuota", "resourcequotas", "quota", "sn", ""},
	{"", "v1", "PodTemplate", "podtemplates", "", "", ""},
	{"apps", "v1", "Deployment", "deployments", "deploy", "s", ""},
	{"apps", "v1", "ReplicaSet", "replicasets", "rs", "s", "status.replicas"},
	{"apps", "v1", "StatefulSet", "statefulsets", "sts", "s", ""},
	{"apps", "v1", "DaemonSet", "daemonsets", "ds", "s", ""},
	{"apps", "v1", "ControllerRevision", "controllerrevisions", "", "n", ""},
	{"batch", "v1", "Job", "jobs", "", "s", "status.successful"},
	{"batch", "v1", "CronJob", "cronjobs", "cj", "s", ""},
	{"coordination.k8s.io", "v1", "Lease", "leases", "", "n", ""},
	{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "", "", ""},
	{"networking.k8s.io", "v1", "Ingress", "ingresses", "ing", "s", ""},
	{"networking.k8s.io", "v1", "IngressClass", "ingressclasses", "", "c", ""},
	{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", "", ""},
	{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", "s", ""},
	{"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", "sn", ""},
	{"rbac.authorization.k8s.io", "v1", "Role", "roles", "", "n", ""},
	{"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "", "n", ""},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", "cn", ""},
	{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", "cn", ""},
	{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", "c", ""},
	{"storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", "cn", ""},
	{crdGroup, "v1", "CustomResourceDefinition", "customresourcedefinitions", "crd crds", "cs", ""},
}

// resource turns the row into a description.
func (b builtin) resource() Resource {
	return Resource{
		Group:             b.group,
		Versions:          []string{b.version},
		Kind:              b.kind,
		Plural:            b.plural,
		ShortNames:        strings.Fields(b.short),
		ClusterScoped:     strings.ContainsRune(b.traits, clusterScoped),
		StatusSubresource: strings.ContainsRune(b.traits, hasStatus),
		NoGeneration:      strings.ContainsRune(b.traits, noGeneration),
		SelectableFields:  strings.Fields(b.fields),
	}
}
