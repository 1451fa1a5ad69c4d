package informertest

// clusterColumns are the columns of kinds that describe a cluster rather than what
// runs in it, and of other kinds that are printed rarely.
var clusterColumns = map[string][]column{
	"podtemplates": {
		nameColumn, textColumn("Containers", eachOf("name", "template", "spec", "containers")),
		textColumn("Images", eachOf("image", "template", "spec", "containers")), textColumn("Pod Labels", labelsText("template", "metadata", "labels")),
	},
	"poddisruptionbudgets.policy": {
		nameColumn, textColumn("Min Available", textOf("N/A", "spec", "minAvailable")), textColumn("Max Unavailable", textOf("N/A", "spec", "maxUnavailable")),
		numberColumn("Allowed Disruptions", "status", "disruptionsAllowed"), ageColumn,
	},
	"jobs.batch": {
		nameColumn, textColumn("Status", jobStatus), textColumn("Completions", jobCompletions), textColumn("Duration", jobDuration),
		ageColumn, containerNames(template...), images(template...), wideColumn("Selector", structuredSelector("spec", "selector")),
	},
	"cronjobs.batch": {
		nameColumn, textColumn("Schedule", orEmpty("spec", "schedule")), textColumn("Timezone", valueOf("spec", "timeZone")),
		{printerColumn{Name: "Suspend", Type: "boolean"}, truth("spec", "suspend")}, {printerColumn{Name: "Active", Type: "integer"}, countOf("status", "active")},
		textColumn("Last Schedule", since("<none>", "status", "lastScheduleTime")), ageColumn,
		containerNames(jobTemplate...), images(jobTemplate...), wideColumn("Selector", structuredSelector("spec", "jobTemplate", "spec", "selector")),
	},
	"ingresses.networking.k8s.io": {
		nameColumn, textColumn("Class", valueOf("spec", "ingressClassName")), textColumn("Hosts", ingressHosts), textColumn("Address", balancerAddresses),
		textColumn("Ports", ingressPorts), ageColumn,
	},
	"ingressclasses.networking.k8s.io": {
		namedColumn("ingressclass.kubernetes.io/is-default-class"), textColumn("Controller", orEmpty("spec", "controller")), textColumn("Parameters", ingressParameters), ageColumn,
	},
	"networkpolicies.networking.k8s.io": {nameColumn, textColumn("Pod-Selector", structuredSelector("spec", "podSelector")), ageColumn},
	"servicecidrs.networking.k8s.io":    {nameColumn, textColumn("CIDRs", listOf("spec", "cidrs")), ageColumn},
	"ipaddresses.networking.k8s.io":     {nameColumn, textColumn("ParentRef", addressOwner), ageColumn},
	"endpoints":                         {nameColumn, textColumn("Endpoints", endpointAddresses), ageColumn},
	"endpointslices.discovery.k8s.io": {
		nameColumn, textColumn("AddressType", orEmpty("addressType")), textColumn("Ports", slicePorts), textColumn("Endpoints", sliceAddresses), ageColumn,
	},
	"nodes": {
		nameColumn, textColumn("Status", nodeStatus), textColumn("Roles", nodeRoles), ageColumn, textColumn("Version", orEmpty("status", "nodeInfo", "kubeletVersion")),
		wideColumn("Internal-IP", nodeAddress("InternalIP")), wideColumn("External-IP", nodeAddress("ExternalIP")),
		wideColumn("OS-Image", or("<unknown>", "status", "nodeInfo", "osImage")), wideColumn("Kernel-Version", nodeKernel),
		wideColumn("Container-Runtime", or("<unknown>", "status", "nodeInfo", "containerRuntimeVersion")),
	},
	"events":               eventColumns,
	"events.events.k8s.io": eventColumns,
	"persistentvolumes": {
		nameColumn, textColumn("Capacity", or("0", "spec", "capacity", "storage")), textColumn("Access Modes", accessModes("spec", "accessModes")),
		textColumn("Reclaim Policy", orEmpty("spec", "persistentVolumeReclaimPolicy")), textColumn("Status", phase), textColumn("Claim", volumeClaim),
		textColumn("StorageClass", orEmpty("spec", "storageClassName")), textColumn("VolumeAttributesClass", or("<unset>", "spec", "volumeAttributesClassName")),
		textColumn("Reason", orEmpty("status", "reason")), ageColumn, wideColumn("VolumeMode", or("<unset>", "spec", "volumeMode")),
	},
	"storageclasses.storage.k8s.io": {
		namedColumn("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"),
		textColumn("Provisioner", orEmpty("provisioner")), textColumn("ReclaimPolicy", or("Delete", "reclaimPolicy")),
		textColumn("VolumeBindingMode", or("Immediate", "volumeBindingMode")), textColumn("AllowVolumeExpansion", or(false, "allowVolumeExpansion")), ageColumn,
	},
	"volumeattributesclasses.storage.k8s.io": {nameColumn, textColumn("DriverName", orEmpty("driverName")), ageColumn},
	"volumeattachments.storage.k8s.io": {
		nameColumn, {printerColumn{Name: "Attacher", Type: "string", Format: "name"}, orEmpty("spec", "attacher")}, textColumn("PV", orEmpty("spec", "source", "persistentVolumeName")),
		textColumn("Node", orEmpty("spec", "nodeName")), {printerColumn{Name: "Attached", Type: "boolean"}, or(false, "status", "attached")}, ageColumn,
	},
	"csinodes.storage.k8s.io": {nameColumn, {printerColumn{Name: "Drivers", Type: "integer"}, countOf("spec", "drivers")}, ageColumn},
	"csidrivers.storage.k8s.io": {
		nameColumn, booleanColumn("AttachRequired", true, "spec", "attachRequired"), booleanColumn("PodInfoOnMount", false, "spec", "podInfoOnMount"),
		booleanColumn("StorageCapacity", false, "spec", "storageCapacity"), textColumn("TokenRequests", audiences),
		booleanColumn("RequiresRepublish", false, "spec", "requiresRepublish"), textColumn("Modes", listOf("spec", "volumeLifecycleModes")), ageColumn,
	},
	"horizontalpodautoscalers.autoscaling": {
		nameColumn, textColumn("Reference", scaleTarget), textColumn("Targets", scalerMetrics), textColumn("MinPods", textOf("<unset>", "spec", "minReplicas")),
		textColumn("MaxPods", numberOf("spec", "maxReplicas")), textColumn("Replicas", numberOf("status", "currentReplicas")), ageColumn,
	},
	"rolebindings.rbac.authorization.k8s.io":        bindingColumns,
	"clusterrolebindings.rbac.authorization.k8s.io": bindingColumns,
	"certificatesigningrequests.certificates.k8s.io": {
		nameColumn, ageColumn, textColumn("SignerName", valueOf("spec", "signerName")), textColumn("Requestor", orEmpty("spec", "username")),
		textColumn("RequestedDuration", requestedDuration), textColumn("Condition", requestState),
	},
	"controllerrevisions.apps": {nameColumn, textColumn("Controller", controllerOf), textColumn("Revision", numberOf("revision")), ageColumn},
	"resourcequotas":           {nameColumn, textColumn("Request", quotas(false)), textColumn("Limit", quotas(true)), ageColumn},
	"priorityclasses.scheduling.k8s.io": {
		nameColumn, numberColumn("Value", "value"), booleanColumn("Global-Default", false, "globalDefault"), ageColumn, textColumn("PreemptionPolicy", orEmpty("preemptionPolicy")),
	},
	"runtimeclasses.node.k8s.io": {nameColumn, textColumn("Handler", orEmpty("handler")), ageColumn},
	"validatingwebhookconfigurations.admissionregistration.k8s.io": {
		nameColumn, {printerColumn{Name: "Webhooks", Type: "integer"}, countOf("webhooks")}, ageColumn,
	},
	"mutatingwebhookconfigurations.admissionregistration.k8s.io": {
		nameColumn, {printerColumn{Name: "Webhooks", Type: "integer"}, countOf("webhooks")}, ageColumn,
	},
	"validatingadmissionpolicies.admissionregistration.k8s.io": {
		nameColumn, {printerColumn{Name: "Validations", Type: "integer"}, countOf("spec", "validations")}, textColumn("ParamKind", parameterKind), ageColumn,
	},
	"mutatingadmissionpolicies.admissionregistration.k8s.io": {
		nameColumn, {printerColumn{Name: "Mutations", Type: "integer"}, countOf("spec", "mutations")}, textColumn("ParamKind", parameterKind), ageColumn,
	},
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": policyBindingColumns,
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io":   policyBindingColumns,
	"flowschemas.flowcontrol.apiserver.k8s.io": {
		nameColumn, textColumn("PriorityLevel", orEmpty("spec", "priorityLevelConfiguration", "name")), textColumn("MatchingPrecedence", numberOf("spec", "matchingPrecedence")),
		textColumn("DistinguisherMethod", valueOf("spec", "distinguisherMethod", "type")), ageColumn, textColumn("MissingPL", missingLevel),
	},
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {
		nameColumn, textColumn("Type", orEmpty("spec", "type")), textColumn("NominalConcurrencyShares", valueOf("spec", "limited", "nominalConcurrencyShares")),
		textColumn("Queues", valueOf("spec", "limited", "limitResponse", "queuing", "queues")), textColumn("HandSize", valueOf("spec", "limited", "limitResponse", "queuing", "handSize")),
		textColumn("QueueLengthLimit", valueOf("spec", "limited", "limitResponse", "queuing", "queueLengthLimit")), ageColumn,
	},
	"deviceclasses.resource.k8s.io":          {nameColumn, ageColumn},
	"resourceclaims.resource.k8s.io":         {nameColumn, textColumn("State", claimState), ageColumn},
	"resourceclaimtemplates.resource.k8s.io": {nameColumn, ageColumn},
	"resourceslices.resource.k8s.io": {
		nameColumn, textColumn("Node", orEmpty("spec", "nodeName")), textColumn("Driver", orEmpty("spec", "driver")), textColumn("Pool", orEmpty("spec", "pool", "name")), ageColumn,
	},
	"apiservices.apiregistration.k8s.io": {
		nameColumn, textColumn("Service", serviceOfAPI), textColumn("Available", availability), ageColumn,
	},
}

var (
	jobTemplate    = []string{"spec", "jobTemplate", "spec", "template", "spec", "containers"}
	bindingColumns = []column{
		nameColumn, textColumn("Role", roleOf), ageColumn,
		wideColumn("Users", subjects("User")), wideColumn("Groups", subjects("Group")), wideColumn("ServiceAccounts", subjects("ServiceAccount")),
	}
	policyBindingColumns = []column{nameColumn, textColumn("PolicyName", orEmpty("spec", "policyName")), textColumn("ParamRef", parameterOf), ageColumn}
)

// namedColumn is the name column of classes of which one is the default.
func namedColumn(annotations ...string) column {
	return column{nameColumn.printerColumn, markedDefault(annotations...)}
}

// booleanColumn is a column of a field that has a default, which is shown where the
// field is absent.
func booleanColumn(name string, otherwise bool, path ...string) column {
	return column{printerColumn{Name: name, Type: "boolean"}, or(otherwise, path...)}
}
