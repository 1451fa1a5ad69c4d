package informertest

import "strings"

// Traits of a built-in resource, as letters in the table below.
const (
	clusterScoped = 'c'
	hasStatus     = 's'
	noGeneration  = 'n'
	inAll         = 'a' // of the category "all"
	inExtensions  = 'x' // of the category "api-extensions"
)

// builtinResource is a row of the table of built-in resources.
type builtinResource struct {
	group, version, kind, plural, short, traits, fields string
}

// builtins are the resources that a new cluster of the release serves, but for
// those that only answer questions (reviews) or only show the state of
// components.
var builtins = []builtinResource{
	{"", "v1", "Namespace", "namespaces", "ns", "csn", "status.phase"},
	{"", "v1", "Node", "nodes", "no", "csn", "spec.unschedulable"},
	{"", "v1", "Pod", "pods", "po", "sa", "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork status.phase status.podIP status.nominatedNodeName"},
	{"", "v1", "ConfigMap", "configmaps", "cm", "n", ""},
	{"", "v1", "Secret", "secrets", "", "n", "type"},
	{"", "v1", "Service", "services", "svc", "sna", "spec.clusterIP spec.type"},
	{"", "v1", "ServiceAccount", "serviceaccounts", "sa", "n", ""},
	{"", "v1", "Endpoints", "endpoints", "ep", "n", ""},
	{"", "v1", "Event", "events", "ev", "n", "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type"},
	{"", "v1", "PersistentVolume", "persistentvolumes", "pv", "csn", ""},
	{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "sn", ""},
	{"", "v1", "ReplicationController", "replicationcontrollers", "rc", "sa", "status.replicas"},
	{"", "v1", "LimitRange", "limitranges", "limits", "n", ""},
	{"", "v1", "ResourceQuota", "resourcequotas", "quota", "sn", ""},
	{"", "v1", "PodTemplate", "podtemplates", "", "", ""},
	{"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", "", "cx", ""},
	{"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", "", "cx", ""},
	{"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", "cx", ""},
	{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "", "csx", ""},
	{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "", "cx", ""},
	{"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", "cx", ""},
	{crdGroup, "v1", "CustomResourceDefinition", "customresourcedefinitions", "crd crds", "csx", ""},
	{"apiregistration.k8s.io", "v1", "APIService", "apiservices", "", "csnx", "spec.service.name spec.service.namespace"},
	{"apps", "v1", "ControllerRevision", "controllerrevisions", "", "n", ""},
	{"apps", "v1", "DaemonSet", "daemonsets", "ds", "sa", ""},
	{"apps", "v1", "Deployment", "deployments", "deploy", "sa", ""},
	{"apps", "v1", "ReplicaSet", "replicasets", "rs", "sa", "status.replicas"},
	{"apps", "v1", "StatefulSet", "statefulsets", "sts", "sa", ""},
	{"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", "sna", ""},
	{"batch", "v1", "CronJob", "cronjobs", "cj", "sa", ""},
	{"batch", "v1", "Job", "jobs", "", "sa", "status.successful"},
	{"certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", "csr", "csn", "spec.signerName"},
	{"coordination.k8s.io", "v1", "Lease", "leases", "", "n", ""},
	{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "", "", ""},
	{"flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", "", "cs", ""},
	{"flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", "", "cs", ""},
	{"networking.k8s.io", "v1", "IPAddress", "ipaddresses", "ip", "cn", ""},
	{"networking.k8s.io", "v1", "Ingress", "ingresses", "ing", "s", ""},
	{"networking.k8s.io", "v1", "IngressClass", "ingressclasses", "", "c", ""},
	{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", "", ""},
	{"networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", "", "csn", ""},
	{"node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "", "cn", ""},
	{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", "s", ""},
	{"rbac.authorization.k8s.io", "v1", "Role", "roles", "", "n", ""},
	{"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "", "n", ""},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", "cn", ""},
	{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", "cn", ""},
	{"resource.k8s.io", "v1", "DeviceClass", "deviceclasses", "", "c", ""},
	{"resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", "", "sn", ""},
	{"resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates", "", "n", ""},
	{"resource.k8s.io", "v1", "ResourceSlice", "resourceslices", "", "c", "spec.driver spec.nodeName"},
	{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", "c", ""},
	{"storage.k8s.io", "v1", "CSIDriver", "csidrivers", "", "cn", ""},
	{"storage.k8s.io", "v1", "CSINode", "csinodes", "", "cn", ""},
	{"storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", "", "n", ""},
	{"storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", "cn", ""},
	{"storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", "", "csn", ""},
	{"storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", "vac", "cn", ""},
}

// resource turns the row into a description.
func (b builtinResource) resource() Resource {
	res := Resource{
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
	if b.group == crdGroup || b.group == "apiregistration.k8s.io" {
		res.schemas, res.fields = map[string]map[string]any{b.version: conditionsSchema()}, &fieldTypes{}
	}
	if strings.ContainsRune(b.traits, inAll) {
		res.Categories = append(res.Categories, "all")
	}
	if strings.ContainsRune(b.traits, inExtensions) {
		res.Categories = append(res.Categories, "api-extensions")
	}
	return res
}
