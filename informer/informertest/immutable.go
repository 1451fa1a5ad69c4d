package informertest

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// immutableFields are the fields that no update of a built-in kind may change.
var immutableFields = map[schema.GroupKind]string{
	{Group: "apps", Kind: "ControllerRevision"}:               "data",
	{Group: "apps", Kind: "DaemonSet"}:                        "spec.selector",
	{Group: "apps", Kind: "Deployment"}:                       "spec.selector",
	{Group: "apps", Kind: "ReplicaSet"}:                       "spec.selector",
	{Group: "batch", Kind: "Job"}:                             "spec.selector spec.completionMode spec.podFailurePolicy spec.backoffLimitPerIndex spec.managedBy spec.successPolicy",
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:        "addressType",
	{Group: "networking.k8s.io", Kind: "IngressClass"}:        "spec.controller",
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:              "handler",
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:       "preemptionPolicy",
	{Group: "storage.k8s.io", Kind: "StorageClass"}:           "parameters provisioner reclaimPolicy volumeBindingMode",
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:       "spec",
	{Kind: "ResourceQuota"}:                                   "spec.scopes",
	{Kind: "Secret"}:                                          "type",
	{Group: crdGroup, Kind: "CustomResourceDefinition"}:       "spec.group spec.scope spec.names.plural spec.names.kind",
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:         "spec",
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}: "spec",
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}:         "spec.pool.name spec.driver spec.nodeName",
	{Group: "networking.k8s.io", Kind: "IPAddress"}:           "spec.parentRef",
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:              "spec.attachRequired spec.volumeLifecycleModes",
	{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"}:     "nodeTopology storageClassName",
}

// immutableParts check what a list of fields cannot express.
var immutableParts = map[schema.GroupKind]func(old, obj map[string]any) field.ErrorList{
	{Kind: "Pod"}:  podUpdate,
	{Kind: "Node"}: nodeUpdate,
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:        rangesUpdate,
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}: attributesUpdate,
	{Group: "storage.k8s.io", Kind: "CSINode"}:               driversUpdate,
	{Kind: "ConfigMap"}:                                              sealedUpdate,
	{Kind: "Secret"}:                                                 sealedUpdate,
	{Kind: "Service"}:                                                serviceUpdate,
	{Kind: "PersistentVolume"}:                                       volumeUpdate,
	{Kind: "PersistentVolumeClaim"}:                                  claimUpdate,
	{Group: "apps", Kind: "StatefulSet"}:                             statefulSetUpdate,
	{Group: "batch", Kind: "Job"}:                                    jobUpdate,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:              priorityUpdate,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        roleRefUpdate,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: roleRefUpdate,
}

// immutable refuses an update of fields that are set for good.
func immutable(res Resource, old, obj *unstructured.Unstructured) field.ErrorList {
	kind := schema.GroupKind{Group: res.Group, Kind: res.Kind}
	var errs field.ErrorList
	for path := range strings.FieldsSeq(immutableFields[kind]) {
		parts := strings.Split(path, ".")
		if now := at(obj.Object, parts...); !reflect.DeepEqual(at(old.Object, parts...), now) {
			if path == "spec.attachRequired" {
				parts[1] = "attachedRequired" // what a cluster calls it
			}
			errs = append(errs, field.Invalid(field.NewPath(parts[0], parts[1:]...), now, "field is immutable"))
		}
	}
	if check := immutableParts[kind]; check != nil {
		errs = append(errs, check(old.Object, obj.Object)...)
	}
	return errs
}

// at returns what is at a path; nil if there is nothing.
func at(o map[string]any, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	return v
}

// changedBeyond reports whether an object's specification differs in anything
// but the named members.
func changedBeyond(old, obj map[string]any, members ...string) bool {
	return !reflect.DeepEqual(specWithout(old, members), specWithout(obj, members))
}

// specWithout returns a shallow copy of an object's specification without the named
// members, so that two of them can be compared without changing either.
func specWithout(o map[string]any, members []string) map[string]any {
	spec, _ := o["spec"].(map[string]any)
	out := make(map[string]any, len(spec))
	for name, v := range spec {
		out[name] = v
	}
	for _, name := range members {
		delete(out, name)
	}
	return out
}

// statefulSetUpdate permits an update of the listed fields only. The text is that of
// kube-apiserver, which programs and people search for.
func statefulSetUpdate(old, obj map[string]any) field.ErrorList {
	if !changedBeyond(old, obj, "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds") {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")}
}

// claimUpdate keeps the specification of a PersistentVolumeClaim, except for the size
// that is requested and the attributes class.
func claimUpdate(old, obj map[string]any) field.ErrorList {
	// The volume and the class are written after creation, once; what is bound may grow.
	var members []string
	if at(obj, "status", "phase") == "Bound" {
		members = []string{"volumeAttributesClassName", "resources"}
	}
	for _, name := range []string{"volumeName", "storageClassName"} {
		if had := at(old, "spec", name); had == nil || had == "" {
			members = append(members, name)
		}
	}
	var errs field.ErrorList
	if changedBeyond(old, obj, members...) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"))
	}
	size := func(o map[string]any, path ...string) resource.Quantity {
		return quantity(map[string]any{"resources": map[string]any{"requests": at(o, path...)}}, "requests", "storage")
	}
	before, after, real := size(old, "spec", "resources", "requests"), size(obj, "spec", "resources", "requests"), size(old, "status", "capacity")
	if after.Cmp(before) < 0 && after.Cmp(real) <= 0 { // a failed expansion may be taken back, the volume does not shrink
		errs = append(errs, field.Forbidden(field.NewPath("spec", "resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	return append(errs, modeUpdate(old, obj)...)
}

// modeUpdate keeps the mode of a volume.
func modeUpdate(old, obj map[string]any) field.ErrorList {
	if now := at(obj, "spec", "volumeMode"); now != at(old, "spec", "volumeMode") {
		return field.ErrorList{field.Invalid(field.NewPath("volumeMode"), now, "field is immutable")}
	}
	return nil
}

// nodeUpdate keeps what a node is once known by.
func nodeUpdate(old, obj map[string]any) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"podCIDRs", "providerID"} {
		if had := at(old, "spec", name); had != nil && !reflect.DeepEqual(had, at(obj, "spec", name)) {
			errs = append(errs, field.Forbidden(field.NewPath("spec", name), "node updates may not change "+strings.TrimSuffix(name, "s")+` except from "" to valid`))
		}
	}
	return errs
}

// rangesUpdate keeps the ranges of a ServiceCIDR; one of the other family may be added.
func rangesUpdate(old, obj map[string]any) field.ErrorList {
	had, _ := at(old, "spec", "cidrs").([]any)
	have, _ := at(obj, "spec", "cidrs").([]any)
	path := field.NewPath("spec", "cidrs")
	if len(had) != len(have) && (len(had) != 1 || len(have) != 2) {
		return field.ErrorList{field.Invalid(path, have, "field is immutable")}
	}
	var errs field.ErrorList
	for i := range had {
		if had[i] != have[i] {
			errs = append(errs, field.Invalid(path.Index(i), have[i], "field is immutable"))
		}
	}
	return errs
}

// driversUpdate keeps the drivers that a node has; others may come, and drivers may go.
func driversUpdate(old, obj map[string]any) field.ErrorList {
	had := map[any]any{}
	for _, driver := range objectsAt(old, "spec", "drivers") {
		had[driver["name"]] = driver
	}
	var errs field.ErrorList
	for _, driver := range objectsAt(obj, "spec", "drivers") {
		if before := had[driver["name"]]; before != nil && !reflect.DeepEqual(before, any(driver)) {
			form := struct{ Name, NodeID, TopologyKeys, Allocatable any }{driver["name"], driver["nodeID"], driver["topologyKeys"], driver["allocatable"]}
			errs = append(errs, field.Invalid(field.NewPath("spec", "drivers"), form, "field is immutable"))
		}
	}
	return errs
}

// attributesUpdate keeps what a VolumeAttributesClass stands for.
func attributesUpdate(old, obj map[string]any) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"driverName", "parameters"} {
		if !reflect.DeepEqual(old[name], obj[name]) {
			errs = append(errs, field.Forbidden(field.NewPath(name), "updates to "+name+" are forbidden."))
		}
	}
	return errs
}

// ephemeralUpdate keeps the ephemeral containers that a pod has; others may be added.
func ephemeralUpdate(old, obj map[string]any) field.ErrorList {
	have := map[any]any{}
	for _, c := range objectsAt(obj, "spec", "ephemeralContainers") {
		have[c["name"]] = c
	}
	path := field.NewPath("spec", "ephemeralContainers")
	var errs field.ErrorList
	for _, c := range objectsAt(old, "spec", "ephemeralContainers") {
		if now, ok := have[c["name"]]; !ok {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", c["name"])))
		} else if !reflect.DeepEqual(any(c), now) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n", c["name"])))
		}
	}
	return errs
}

// volumeUpdate keeps the source of a PersistentVolume, such as its CSI volume: data
// would otherwise appear to move to another disk.
func volumeUpdate(old, obj map[string]any) field.ErrorList {
	// Everything else in the specification is the source.
	if !changedBeyond(old, obj, "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName", "volumeMode") {
		return modeUpdate(old, obj)
	}
	return append(field.ErrorList{field.Forbidden(field.NewPath("spec", "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation")}, modeUpdate(old, obj)...)
}

// sealedUpdate keeps a config map or secret as it is that declares itself
// immutable.
func sealedUpdate(old, obj map[string]any) field.ErrorList {
	if old["immutable"] != true {
		return nil
	}
	const detail = "field is immutable when `immutable` is set"
	var errs field.ErrorList
	if obj["immutable"] != true {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), detail))
	}
	for _, name := range []string{"data", "binaryData"} {
		if !reflect.DeepEqual(old[name], obj[name]) {
			errs = append(errs, field.Forbidden(field.NewPath(name), detail))
		}
	}
	return errs
}

// serviceUpdate keeps the cluster IP of a Service once it has one, except when the type
// becomes ExternalName, which has none.
func serviceUpdate(old, obj map[string]any) field.ErrorList {
	had, _ := at(old, "spec", "clusterIP").(string)
	path := field.NewPath("spec")
	var errs field.ErrorList
	if had != "" && had != at(obj, "spec", "clusterIP") && at(obj, "spec", "type") != "ExternalName" {
		errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(0), at(obj, "spec", "clusterIPs"), "may not change once set"))
	}
	balanced := at(old, "spec", "type") == "LoadBalancer" && at(obj, "spec", "type") == "LoadBalancer"
	if class := at(obj, "spec", "loadBalancerClass"); balanced && class != at(old, "spec", "loadBalancerClass") {
		errs = append(errs, field.Invalid(path.Child("loadBalancerClass"), class, "may not change once set"))
	}
	return errs
}

// jobUpdate keeps the pod template of a Job, and its completions unless it is an
// indexed one that changes parallelism to the same number (KEP-3715).
func jobUpdate(old, obj map[string]any) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	// A suspended job that has not begun may still be given other nodes.
	before, now := at(old, "spec", "template"), at(obj, "spec", "template")
	path := spec.Child("template")
	if notBegun(old) {
		before, now, path = unscheduled(before), unscheduled(now), path.Child("spec")
	}
	if !reflect.DeepEqual(before, now) {
		errs = append(errs, field.Invalid(path, at(obj, strings.Split(path.String(), ".")...), "field is immutable"))
	}
	if now := at(obj, "spec", "completions"); !reflect.DeepEqual(at(old, "spec", "completions"), now) {
		switch {
		case at(obj, "spec", "completionMode") != "Indexed":
			errs = append(errs, field.Invalid(spec.Child("completions"), now, "field is immutable"))
		case now != at(obj, "spec", "parallelism"):
			errs = append(errs, field.Invalid(spec.Child("completions"), now, "can only be modified in tandem with spec.parallelism"))
		}
	}
	return errs
}

// unscheduled is a template without what says where its pods run.
func unscheduled(template any) any {
	copied, _ := runtime.DeepCopyJSONValue(template).(map[string]any)
	delete(copied, "metadata")
	if spec, ok := copied["spec"].(map[string]any); ok {
		for _, name := range []string{"nodeSelector", "affinity", "tolerations", "schedulingGates"} {
			delete(spec, name)
		}
	}
	return copied
}

// notBegun reports whether a job is suspended and has never run.
func notBegun(job map[string]any) bool {
	return at(job, "spec", "suspend") == true && at(job, "status", "startTime") == nil
}

// priorityUpdate keeps the value of a PriorityClass: pods have copied it.
func priorityUpdate(old, obj map[string]any) field.ErrorList {
	if reflect.DeepEqual(old["value"], obj["value"]) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("value"), "may not be changed in an update.")}
}

// roleRefUpdate keeps the role of a binding, so that a user who may edit its subjects
// cannot raise what they may do.
func roleRefUpdate(old, obj map[string]any) field.ErrorList {
	if reflect.DeepEqual(old["roleRef"], obj["roleRef"]) {
		return nil
	}
	ref := struct{ APIGroup, Kind, Name any }{at(obj, "roleRef", "apiGroup"), at(obj, "roleRef", "kind"), at(obj, "roleRef", "name")}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), ref, "cannot change roleRef")}
}

// podUpdate lets an update of a pod change little but images: the node has
// started the containers already.
func podUpdate(old, obj map[string]any) field.ErrorList {
	path := field.NewPath("spec")
	for _, list := range []string{"containers", "initContainers"} {
		if len(objectsAt(old, "spec", list)) != len(objectsAt(obj, "spec", list)) {
			return field.ErrorList{field.Forbidden(path.Child(list), "pod updates may not add or remove containers")}
		}
	}
	var errs field.ErrorList
	if had, ok := at(old, "spec", "activeDeadlineSeconds").(int64); ok {
		switch now, ok := at(obj, "spec", "activeDeadlineSeconds").(int64); {
		case !ok:
			errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), nil, "must not update from a positive integer to nil value"))
		case now > had:
			return field.ErrorList{field.Invalid(path.Child("activeDeadlineSeconds"), now, "must be less than or equal to previous value")}
		}
	}
	errs = append(errs, gatesUpdate(old, obj)...)
	before, after := changeable(old, obj)
	if !reflect.DeepEqual(before, after) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"))
	}
	had, _ := at(old, "spec", "tolerations").([]any)
	have, _ := at(obj, "spec", "tolerations").([]any)
	for _, t := range had {
		if !containsToleration(have, t) {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "tolerations"), "existing toleration can not be modified except its tolerationSeconds"))
			break
		}
	}
	return errs
}

// gatesUpdate lets scheduling gates be removed only, and while there are some, nodes be
// excluded only.
func gatesUpdate(old, obj map[string]any) field.ErrorList {
	had := map[any]bool{}
	for _, gate := range objectsAt(old, "spec", "schedulingGates") {
		had[gate["name"]] = true
	}
	var errs field.ErrorList
	for i, gate := range objectsAt(obj, "spec", "schedulingGates") {
		if !had[gate["name"]] {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "schedulingGates").Index(i).Child("name"), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%v'", gate["name"])))
		}
	}
	before, _ := at(old, "spec", "nodeSelector").(map[string]any)
	after := at(obj, "spec", "nodeSelector")
	for name, value := range before {
		if now, _ := after.(map[string]any); len(had) > 0 && now[name] != value {
			return append(errs, field.Invalid(field.NewPath("spec", "nodeSelector"), after, "only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
		}
	}
	return errs
}

// changeable returns the specifications of a pod before and after an update,
// without what an update may change.
func changeable(old, obj map[string]any) (before, after map[string]any) {
	free := []string{"activeDeadlineSeconds", "tolerations", "schedulingGates"}
	if gates, _ := at(old, "spec", "schedulingGates").([]any); len(gates) > 0 {
		free = append(free, "nodeSelector", "affinity")
	}
	strip := func(o map[string]any) map[string]any {
		spec := specWithout(o, free)
		for _, list := range []string{"containers", "initContainers"} {
			containers, _ := runtime.DeepCopyJSONValue(spec[list]).([]any)
			for _, c := range containers {
				if content, ok := c.(map[string]any); ok {
					delete(content, "image")
				}
			}
			spec[list] = containers
		}
		return spec
	}
	return strip(old), strip(obj)
}

// containsToleration reports whether a toleration is in a list, for whatever time.
func containsToleration(list []any, toleration any) bool {
	timeless := func(t any) any {
		content, _ := runtime.DeepCopyJSONValue(t).(map[string]any)
		delete(content, "tolerationSeconds")
		return content
	}
	for _, t := range list {
		if reflect.DeepEqual(timeless(t), timeless(toleration)) {
			return true
		}
	}
	return false
}
