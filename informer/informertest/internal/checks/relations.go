package checks

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
	util "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// notWith forbids what its guard excludes.
func notWith(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	if v == nil {
		return nil
	}
	return invalid(path, "", strings.Join(args, " "))
}

// source wants one source of an environment variable.
func source(v any, sc *scope, path *field.Path, _ []string) field.ErrorList {
	if from, ok := v.(map[string]any); ok && len(from) == 0 {
		return invalid(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`")
	} else if value, _ := sc.object["value"].(string); len(from) > 1 && value == "" {
		return invalid(path, "", "may not have more than one field specified at a time")
	}
	return nil
}

// sources want one source in each element of envFrom.
func sources(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	items, _ := v.([]any)
	var errs field.ErrorList
	for _, item := range items {
		switch one, other := dig(item, "configMapRef"), dig(item, "secretRef"); {
		case one == nil && other == nil:
			errs = append(errs, field.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
		case one != nil && other != nil:
			errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

// hostPorts wants the containers of a pod to listen on different ports of the node.
func hostPorts(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	taken := map[string]bool{}
	var twice, other field.ErrorList
	containers, _ := dig(v, "containers").([]any)
	for i, container := range containers {
		ports, _ := dig(container, "ports").([]any)
		for j, port := range ports {
			n, _ := dig(port, "hostPort").(int64)
			if n == 0 {
				continue
			}
			at := child(path, "containers").Index(i).Child("ports").Index(j).Child("hostPort")
			ip, _ := dig(port, "hostIP").(string)
			name := fmt.Sprintf("%v/%s/%d", dig(port, "protocol"), ip, n)
			if taken[name] {
				twice = append(twice, field.Duplicate(at, name))
			}
			taken[name] = true
			if dig(v, "hostNetwork") == true && n != dig(port, "containerPort") {
				other = append(other, field.Invalid(at, n, "must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	return append(twice, other...)
}

// gated forbids a node to a pod that is not to be scheduled yet.
func gated(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if empty(dig(v, "schedulingGates")) || empty(dig(v, "nodeName")) {
		return nil
	}
	return field.ErrorList{field.Forbidden(child(path, "nodeName"), "cannot be set until all schedulingGates have been cleared")}
}

// handler wants one handler of a probe.
func handler(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	n := 0
	var errs field.ErrorList
	for _, name := range []string{"exec", "httpGet", "tcpSocket", "grpc"} {
		if dig(v, name) == nil {
			continue
		}
		if n++; n > 1 {
			errs = append(errs, field.Forbidden(path.Child(name), "may not specify more than 1 handler type"))
		}
	}
	if n == 0 {
		errs = append(errs, field.Required(path, "must specify a handler type"))
	}
	return errs
}

// mounts wants the volumes of a container to be those of its pod, at different paths.
func mounts(v any, sc *scope, path *field.Path, _ []string) field.ErrorList {
	volumes := map[any]bool{}
	declared, _ := sc.pod["volumes"].([]any)
	for _, volume := range declared {
		volumes[dig(volume, "name")] = true
	}
	claims, _ := sc.claims.([]any)
	for _, claim := range claims {
		volumes[dig(claim, "metadata", "name")] = true
	}
	seen := map[any]bool{}
	items, _ := v.([]any)
	var errs field.ErrorList
	for i, mount := range items {
		name, at := dig(mount, "name"), dig(mount, "mountPath")
		switch {
		case empty(name):
			errs = append(errs, field.Required(path.Index(i).Child("name"), ""))
		case !volumes[name]:
			errs = append(errs, field.NotFound(path.Index(i).Child("name"), name))
		}
		switch {
		case empty(at):
			errs = append(errs, field.Required(path.Index(i).Child("mountPath"), ""))
		case seen[at]:
			errs = append(errs, field.Invalid(path.Index(i).Child("mountPath"), at, "must be unique"))
		}
		seen[at] = true
	}
	return errs
}

// resources wants requests within limits.
func resources(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []string{"limits", "requests"} {
		for _, name := range sorted(dig(v, list)) {
			at := path.Child(list)
			if !strings.Contains(name, "/") && name != "cpu" && name != "memory" && name != "ephemeral-storage" && !strings.HasPrefix(name, "hugepages-") {
				errs = append(errs, field.Invalid(at.Key(name), name, "must be a standard resource type or fully qualified"), field.Invalid(at.Key(name), name, "must be a standard resource for containers"))
			}
			amount, _ := quantity(dig(v, list, name))
			if amount.Sign() < 0 {
				errs = append(errs, field.Invalid(at.Key(name), amount.String(), "must be greater than or equal to 0"))
			}
			if limit, ok := quantity(dig(v, "limits", name)); list == "requests" && ok && amount.Cmp(limit) > 0 {
				errs = append(errs, field.Invalid(at, amount.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
			}
		}
	}
	return errs
}

// volume wants one source of a volume.
func volume(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	n := 0
	names := slices.DeleteFunc(sorted(v), func(name string) bool { return name == "name" || dig(v, name) == nil })
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(strings.Index(volumeOrder, a), strings.Index(volumeOrder, b))
	})
	for _, name := range names {
		if n++; n > 1 {
			errs = append(errs, field.Forbidden(path.Child(name), "may not specify more than 1 volume type"))
		}
	}
	if n == 0 {
		errs = append(errs, field.Required(path, "must specify a volume type"))
	}
	return errs
}

// volumeOrder is the order in which a cluster looks at the sources of a volume.
const volumeOrder = "emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker persistentVolumeClaim rbd cinder cephfs quobyte downwardAPI fc azureFile configMap vsphereVolume azureDisk portworxVolume scaleIO storageos projected csi ephemeral image"

// distinct wants the init containers to have other names than the containers.
func distinct(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	names := map[any]bool{}
	main, _ := dig(v, "containers").([]any)
	for _, c := range main {
		names[dig(c, "name")] = true
	}
	initial, _ := dig(v, "initContainers").([]any)
	var errs field.ErrorList
	for i, c := range initial {
		if name := dig(c, "name"); !empty(name) && names[name] {
			errs = append(errs, field.Duplicate(child(path, "initContainers").Index(i).Child("name"), name))
		}
	}
	return errs
}

// selects wants a workload to select its pods.
func selects(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	at := path.Child("selector")
	s := selectorOf(dig(v, "selector"))
	errs := selector(dig(v, "selector"), nil, at, nil)
	switch {
	case s == nil:
		errs = append(errs, field.Required(at, ""))
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		errs = append(errs, field.Invalid(at, s, "empty selector is invalid for "+args[0]))
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return append(errs, field.Invalid(at, s, "invalid label selector"))
	}
	return append(errs, matches(v, parsed, path)...)
}

// selectsMap is selects for replication controllers.
func selectsMap(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	return matches(v, kubelabels.Set(texts(dig(v, "selector"))).AsSelector(), path)
}

// matches wants a selector to match the labels of the template.
func matches(v any, s kubelabels.Selector, path *field.Path) field.ErrorList {
	have := texts(dig(v, "template", "metadata", "labels"))
	if s.Empty() || s.Matches(kubelabels.Set(have)) {
		return nil
	}
	return invalid(path.Child("template", "metadata", "labels"), have, "`selector` does not match template `labels`")
}

// strategyForm is how errors show a strategy.
type strategyForm struct{ Type, RollingUpdate any }

// strategyOf wants one of two kinds of strategy.
func strategyOf(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	if kind := dig(v, "type"); !empty(kind) && !slices.Contains(args, fmt.Sprint(kind)) {
		return field.ErrorList{field.NotSupported(path, strategyForm{kind, dig(v, "rollingUpdate")}, args)}
	}
	return nil
}

// strategyEither is strategyOf in the words of stateful sets.
func strategyEither(v any, sc *scope, path *field.Path, args []string) field.ErrorList {
	if len(strategyOf(v, sc, path, args)) == 0 {
		return nil
	}
	return invalid(path, strategyForm{dig(v, "type"), dig(v, "rollingUpdate")}, fmt.Sprintf("must be '%s' or '%s'", args[0], args[1]))
}

// strategy is that of a deployment.
func strategy(v any, sc *scope, path *field.Path, _ []string) field.ErrorList {
	at, update := path.Child("rollingUpdate"), dig(v, "rollingUpdate")
	none := func(name string) bool {
		n := dig(update, name)
		return n == int64(0) || n == "0%"
	}
	switch kind := dig(v, "type"); {
	case kind == "Recreate" && update != nil:
		return field.ErrorList{field.Forbidden(at, "may not be specified when strategy `type` is 'Recreate'")}
	case kind == "RollingUpdate":
		errs := append(portion(dig(update, "maxUnavailable"), nil, at.Child("maxUnavailable"), nil), surge(dig(update, "maxSurge"), at.Child("maxSurge"))...)
		if none("maxUnavailable") && none("maxSurge") {
			errs = append(errs, field.Invalid(at.Child("maxUnavailable"), dig(update, "maxUnavailable"), "may not be 0 when `maxSurge` is 0"))
		}
		return errs
	}
	return strategyOf(v, sc, path, []string{"Recreate", "RollingUpdate"})
}

// surge is portion for what may be more than all.
func surge(v any, path *field.Path) field.ErrorList {
	return slices.DeleteFunc(portion(v, nil, path, nil), func(err *field.Error) bool { return strings.HasPrefix(err.Detail, "must not be greater") })
}

// deadline wants a deployment to have time to progress.
func deadline(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	limit, ok := dig(v, "progressDeadlineSeconds").(int64)
	if least, _ := dig(v, "minReadySeconds").(int64); ok && limit <= least {
		return invalid(path.Child("progressDeadlineSeconds"), limit, "must be greater than minReadySeconds")
	}
	return nil
}

// ends wants the pods of a job to end.
func ends(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	switch v {
	case nil, "Always":
		return field.ErrorList{field.Required(path, `valid values: "OnFailure", "Never"`)}
	}
	return enum(v, nil, path, []string{"OnFailure", "Never"})
}

// jobSelector wants a job to select its own pods only.
func jobSelector(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	spec, at := dig(v, "spec"), field.NewPath("spec", "selector")
	s := dig(spec, "selector")
	if dig(spec, "manualSelector") != true {
		if len(sorted(s)) == 1 && len(sorted(dig(s, "matchLabels"))) == 1 {
			return nil
		}
		return invalid(at, s, "`selector` not auto-generated")
	}
	parsed, err := metav1.LabelSelectorAsSelector(selectorOf(s))
	switch {
	case s == nil:
		return field.ErrorList{field.Required(at, "")}
	case err != nil:
		return invalid(at, s, "invalid label selector")
	}
	return matches(spec, parsed, field.NewPath("spec"))
}

// portForm is how errors show a port of a service.
type portForm struct {
	Name        string
	Protocol    any
	AppProtocol any
	Port        any
	TargetPort  int
	NodePort    int
}

// servicePorts checks the ports of a service.
func servicePorts(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	items, _ := dig(v, "ports").([]any)
	var errs field.ErrorList
	external, headless := dig(v, "type") == "ExternalName", dig(v, "clusterIP") == "None"
	if len(items) == 0 && !headless && !external {
		errs = append(errs, field.Required(path.Child("ports"), ""))
	}
	if kind := dig(v, "type"); headless && (kind == "NodePort" || kind == "LoadBalancer") {
		errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(0), "None", fmt.Sprintf("may not be set to 'None' for %v services", kind)))
	}
	if external && (!empty(dig(v, "clusterIPs")) || !empty(dig(v, "clusterIP"))) {
		errs = append(errs, field.Forbidden(path.Child("clusterIPs"), "may not be set for ExternalName services"))
	}
	if name, _ := dig(v, "externalName").(string); external && name != "" {
		errs = append(errs, format(strings.TrimSuffix(name, "."), nil, path.Child("externalName"), []string{"subdomain"})...)
	} else if external {
		errs = append(errs, field.Required(path.Child("externalName"), ""))
	}
	names := map[any]bool{}
	for i, item := range items {
		at, name := path.Child("ports").Index(i), dig(item, "name")
		switch {
		case empty(name) && len(items) > 1:
			errs = append(errs, field.Required(at.Child("name"), ""))
		case !empty(name):
			errs = append(errs, format(name, nil, at.Child("name"), []string{"label"})...)
			if names[name] {
				errs = append(errs, field.Duplicate(at.Child("name"), name))
			}
			names[name] = true
		}
		number, _ := dig(item, "port").(int64)
		errs = append(errs, port(number, nil, at.Child("port"), nil)...)
		errs = append(errs, enum(dig(item, "protocol"), nil, at.Child("protocol"), []string{"SCTP", "TCP", "UDP"})...)
		errs = append(errs, port(dig(item, "targetPort"), nil, at.Child("targetPort"), nil)...)
	}
	return errs
}

// serviceType wants fields that the type of a service has, and no port twice.
func serviceType(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	kind := dig(v, "type")
	items, _ := dig(v, "ports").([]any)
	var errs field.ErrorList
	type binding struct{ port, protocol any }
	taken, nodes := map[binding]bool{}, map[binding]bool{}
	for i, item := range items {
		if n := dig(item, "nodePort"); kind == "ClusterIP" && n != nil && n != int64(0) {
			errs = append(errs, field.Forbidden(path.Child("ports").Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
		}
	}
	for i, item := range items {
		at, protocol := path.Child("ports").Index(i), dig(item, "protocol")
		if n := dig(item, "nodePort"); n != nil && nodes[binding{n, protocol}] {
			errs = append(errs, field.Duplicate(at.Child("nodePort"), n))
		}
		if taken[binding{dig(item, "port"), protocol}] {
			errs = append(errs, field.Duplicate(at, portForm{Protocol: protocol, Port: dig(item, "port")}))
		}
		nodes[binding{dig(item, "nodePort"), protocol}], taken[binding{dig(item, "port"), protocol}] = true, true
	}
	if kind != "LoadBalancer" {
		for _, name := range []string{"loadBalancerSourceRanges", "allocateLoadBalancerNodePorts", "loadBalancerClass"} {
			if !empty(dig(v, name)) {
				errs = append(errs, field.Forbidden(path.Child(name), "may only be used when `type` is 'LoadBalancer'"))
			}
		}
	} else {
		ranges, _ := dig(v, "loadBalancerSourceRanges").([]any)
		for i, item := range ranges {
			errs = append(errs, cidr(item, nil, path.Child("LoadBalancerSourceRanges").Index(i), nil)...)
		}
		errs = append(errs, format(dig(v, "loadBalancerClass"), nil, path.Child("loadBalancerClass"), []string{"qualified"})...)
	}
	policy := dig(v, "externalTrafficPolicy")
	if (kind == "ClusterIP" && empty(dig(v, "externalIPs")) || kind == "ExternalName") && !empty(policy) {
		errs = append(errs, field.Invalid(path.Child("externalTrafficPolicy"), policy, "may only be set for externally-accessible services"))
	}
	if n, _ := dig(v, "healthCheckNodePort").(int64); n != 0 && (kind != "LoadBalancer" || policy != "Local") {
		errs = append(errs, field.Invalid(path.Child("healthCheckNodePort"), n, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	}
	return errs
}

// serviceStatus wants the addresses of a load balancer to belong to one.
func serviceStatus(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	at := field.NewPath("status", "loadBalancer", "ingress")
	items, _ := dig(v, "status", "loadBalancer", "ingress").([]any)
	if len(items) > 0 && dig(v, "spec", "type") != "LoadBalancer" {
		return field.ErrorList{field.Forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")}
	}
	var errs field.ErrorList
	for i, item := range items {
		errs = append(errs, ip(dig(item, "ip"), nil, at.Index(i).Child("ip"), nil)...)
	}
	return errs
}

// keys wants the keys of a config map or secret to be file names.
func keys(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range sorted(v) {
		for _, detail := range util.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(path.Key(key), key, detail))
		}
	}
	return errs
}

func configKeys(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	data, binary := dig(v, "data"), dig(v, "binaryData")
	errs := keys(data, nil, field.NewPath("data"), nil)
	for _, key := range sorted(data) {
		if dig(binary, key) != nil {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
	}
	return append(errs, keys(binary, nil, field.NewPath("binaryData"), nil)...)
}

// maxData is how many bytes a config map or secret may hold.
const maxData = 1 << 20

func totalSize(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	size := 0
	for _, text := range texts(dig(v, "data")) {
		if dig(v, "type") != nil { // of a secret
			size += base64.StdEncoding.DecodedLen(len(text)) - strings.Count(text, "=")
		} else {
			size += len(text)
		}
	}
	for _, text := range texts(dig(v, "binaryData")) {
		size += base64.StdEncoding.DecodedLen(len(text)) - strings.Count(text, "=")
	}
	if size <= maxData {
		return nil
	}
	if dig(v, "type") != nil {
		return field.ErrorList{field.TooLong(field.NewPath("data"), "", maxData)}
	}
	return field.ErrorList{field.TooLong(field.NewPath(""), "", maxData)}
}

// secretKeys are what a secret of a type must hold.
var secretKeys = map[any]string{"kubernetes.io/tls": "tls.crt tls.key", "kubernetes.io/dockerconfigjson": ".dockerconfigjson", "kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/ssh-auth": "ssh-privatekey"}

func secretType(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	data := field.NewPath("data")
	kind := dig(v, "type")
	for key := range strings.FieldsSeq(secretKeys[kind]) {
		value, has := dig(v, "data", key).(string)
		switch {
		case !has || value == "" && key == "ssh-privatekey":
			errs = append(errs, field.Required(data.Key(key), ""))
		case strings.HasPrefix(key, ".docker"):
			raw, _ := base64.StdEncoding.DecodeString(value)
			if err := json.Unmarshal(raw, &map[string]any{}); err != nil {
				errs = append(errs, field.Invalid(data.Key(key), "<secret contents redacted>", err.Error()))
			}
		}
	}
	if kind == "kubernetes.io/basic-auth" && dig(v, "data", "username") == nil && dig(v, "data", "password") == nil {
		errs = append(errs, field.Required(data.Key("username"), ""), field.Required(data.Key("password"), ""))
	}
	const account = "kubernetes.io/service-account.name"
	if kind == "kubernetes.io/service-account-token" && empty(dig(v, "metadata", "annotations", account)) {
		errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(account), ""))
	}
	return errs
}

func budget(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	least, most := dig(v, "minAvailable"), dig(v, "maxUnavailable")
	if least == nil || most == nil {
		return nil
	}
	return invalid(path, struct {
		MinAvailable               any
		Selector                   any
		MaxUnavailable             any
		UnhealthyPodEvictionPolicy any
	}{least, selectorOf(dig(v, "selector")), most, dig(v, "unhealthyPodEvictionPolicy")}, "minAvailable and maxUnavailable cannot be both set")
}

func bounds(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	at := path.Child("maxReplicas")
	most, _ := dig(v, "maxReplicas").(int64)
	var errs field.ErrorList
	if most < 1 {
		errs = append(errs, field.Required(at, "must be set and greater than 0"))
	}
	if least, ok := dig(v, "minReplicas").(int64); ok && most < least {
		errs = append(errs, field.Invalid(at, most, "must be greater than or equal to `minReplicas`"))
	}
	return errs
}

// metricFields are the fields that the types of metrics use.
var metricFields = map[any]string{"ContainerResource": "containerResource", "External": "external", "Object": "object", "Pods": "pods", "Resource": "resource"}

func metric(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	name := metricFields[dig(v, "type")]
	if name == "" {
		return nil
	}
	at, source := path.Child(name), dig(v, name)
	switch target := dig(source, "target"); {
	case source == nil:
		return field.ErrorList{field.Required(at, "must populate information for the given metric source")}
	case strings.HasSuffix(strings.ToLower(name), "resource") && dig(target, "averageUtilization") == nil && dig(target, "averageValue") == nil:
		return field.ErrorList{field.Required(at.Child("target", "averageUtilization"), "must set either a target raw value or a target utilization")}
	}
	return nil
}

func subjectNamespace(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if dig(v, "kind") == "ServiceAccount" && empty(dig(v, "namespace")) {
		return field.ErrorList{field.Required(path.Child("namespace"), "")}
	}
	return nil
}

func rbacRule(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	groups, names := !empty(dig(v, "apiGroups")), !empty(dig(v, "resources"))
	if urls := dig(v, "nonResourceURLs"); !empty(urls) {
		if groups || names || !empty(dig(v, "resourceNames")) {
			return invalid(path.Child("nonResourceURLs"), urls, "rules cannot apply to both regular resources and non-resource URLs")
		}
		return nil
	}
	var errs field.ErrorList
	if !groups {
		errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if !names {
		errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	return errs
}

func namespacedURLs(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if empty(v) {
		return nil
	}
	return invalid(path, v, "namespaced rules cannot apply to non-resource URLs")
}

func ingress(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if dig(v, "defaultBackend") != nil || !empty(dig(v, "rules")) {
		return nil
	}
	return invalid(path, nil, "either `defaultBackend` or `rules` must be specified")
}

// backendPort checks the service that an ingress leads to.
func backendPort(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	service := dig(v, "service")
	if service == nil {
		return nil
	}
	number, _ := dig(service, "port", "number").(int64)
	switch name := dig(service, "port", "name"); {
	case empty(dig(service, "name")):
		return field.ErrorList{field.Required(path.Child("service", "name"), "")}
	case !empty(name) && number != 0:
		return invalid(path, "", "cannot set both port name & port number")
	case empty(name) && number == 0:
		return field.ErrorList{field.Required(path, "port name or number is required")}
	}
	return nil
}

func peer(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if len(sorted(v)) == 0 {
		return field.ErrorList{field.Required(path, "must specify a peer")}
	}
	return nil
}

// sliceAddresses wants the addresses of an endpoint slice to be of its type.
func sliceAddresses(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	endpoints, _ := dig(v, "endpoints").([]any)
	for i, endpoint := range endpoints {
		addresses, _ := dig(endpoint, "addresses").([]any)
		for j, address := range addresses {
			at := field.NewPath("endpoints").Index(i).Child("addresses").Index(j)
			switch dig(v, "addressType") {
			case "IPv4", "IPv6":
				errs = append(errs, ip(address, nil, at, nil)...)
			case "FQDN":
				name, _ := address.(string)
				errs = append(errs, util.IsFullyQualifiedDomainName(at, name)...)
			}
		}
	}
	return errs
}

func slicePorts(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	items, _ := v.([]any)
	seen := map[string]bool{}
	var errs field.ErrorList
	for i, item := range items {
		name, _ := dig(item, "name").(string)
		if seen[name] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("name"), name))
		}
		seen[name] = true
		errs = append(errs, enum(dig(item, "protocol"), nil, path.Index(i).Child("protocol"), []string{"SCTP", "TCP", "UDP"})...)
	}
	return errs
}

// attached wants one volume to be attached.
func attached(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if (dig(v, "inlineVolumeSpec") == nil) == (dig(v, "persistentVolumeName") == nil) {
		return field.ErrorList{field.Required(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")}
	}
	return nil
}

func claimSize(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	size, ok := quantity(dig(v, "requests", "storage"))
	switch {
	case !ok:
		return field.ErrorList{field.Required(path.Key("storage"), "")}
	case size.Sign() <= 0:
		return invalid(path.Key("storage"), size.String(), "must be greater than zero")
	}
	return nil
}

func capacity(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if sizes := sorted(v); len(sizes) != 1 || sizes[0] != "storage" {
		return field.ErrorList{field.NotSupported(path, v, []string{"storage"})}
	}
	if size, ok := quantity(dig(v, "storage")); ok && size.Sign() <= 0 {
		return invalid(path.Key("storage"), size.String(), "must be greater than zero")
	}
	return nil
}

// volumeFields are the fields of a persistent volume that are no source.
var volumeFields = map[string]bool{
	"accessModes": true, "capacity": true, "claimRef": true, "mountOptions": true, "nodeAffinity": true,
	"persistentVolumeReclaimPolicy": true, "storageClassName": true, "volumeAttributesClassName": true, "volumeMode": true,
}

func volumeSource(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	object, _ := v.(map[string]any)
	rest := maps.Clone(object)
	maps.DeleteFunc(rest, func(name string, _ any) bool { return volumeFields[name] })
	if names := sorted(rest); len(names) > 1 {
		return field.ErrorList{field.Forbidden(path.Child(names[1]), "may not specify more than 1 volume type")}
	} else if len(names) == 1 {
		return nil
	}
	return field.ErrorList{field.Required(path, "must specify a volume type")}
}

func eventNamespace(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	about, _ := dig(v, "involvedObject", "namespace").(string)
	if own := dig(v, "metadata", "namespace"); about != own && (about != "" || own != "default") {
		return invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace")
	}
	return nil
}

// taints are checked where a cluster says so, too.
func taints(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	items, _ := dig(v, "spec", "taints").([]any)
	var errs field.ErrorList
	for i, taint := range items {
		at := field.NewPath("metadata", "taints").Index(i)
		key, _ := dig(taint, "key").(string)
		for _, detail := range util.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(at.Child("key"), key, detail))
		}
		errs = append(errs, required(dig(taint, "effect"), nil, at.Child("effect"), nil)...)
		errs = append(errs, enum(dig(taint, "effect"), nil, at.Child("effect"), []string{"NoSchedule", "PreferNoSchedule", "NoExecute"})...)
	}
	return errs
}

func priority(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	name, _ := dig(v, "metadata", "name").(string)
	if strings.HasPrefix(name, "system-") {
		if name == "system-cluster-critical" || name == "system-node-critical" {
			return nil
		}
		return field.ErrorList{field.Forbidden(field.NewPath("metadata", "name"), "priority class names with 'system-' prefix are reserved for system use only. error: "+name+" is not a known system priority class")}
	}
	if value, _ := dig(v, "value").(int64); value > 1_000_000_000 {
		return field.ErrorList{field.Forbidden(field.NewPath("value"), "maximum allowed value of a user defined priority is 1000000000")}
	}
	return nil
}

func apiService(v any, _ *scope, _ *field.Path, _ []string) field.ErrorList {
	group, _ := dig(v, "spec", "group").(string)
	version, _ := dig(v, "spec", "version").(string)
	if name := dig(v, "metadata", "name"); name != version+"."+group && (name != version+"." || group != "") {
		return invalid(field.NewPath("metadata", "name"), name, fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", version+"."+group))
	}
	return nil
}

func clientConfig(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if (dig(v, "url") == nil) == (dig(v, "service") == nil) {
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	}
	return nil
}
