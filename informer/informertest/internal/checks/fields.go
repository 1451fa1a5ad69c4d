package checks

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	util "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// table is the checks by name. Those of one field are in this file, those of fields that
// must fit each other in relations.go.
func table() map[string]check {
	return map[string]check{
		"required": required, "given": given, "enum": enum, "only": enum, "min": atLeast, "range": within, "positive": positive, "nonzero": nonzero,
		"format": format, "labels": labels, "annotations": annotations, "use": use, "list": list, "either": either, "portion": portion, "port": port,
		"ip": ip, "trimmed": trimmed, "selector": selector, "schedule": schedule, "timeZone": timeZone, "modes": modes, "amounts": amounts, "optional": optional,
		"notWith": notWith, "source": source, "handler": handler, "mounts": mounts, "resources": resources, "volume": volume, "distinct": distinct,
		"selects": selects, "selectsMap": selectsMap, "strategy": strategy, "strategyOf": strategyOf, "strategyEither": strategyEither, "deadline": deadline, "ends": ends,
		"servicePorts": servicePorts, "serviceType": serviceType, "configKeys": configKeys, "keys": keys, "totalSize": totalSize, "secretType": secretType,
		"budget": budget, "bounds": bounds, "subjectNamespace": subjectNamespace, "rbacRule": rbacRule, "namespacedURLs": namespacedURLs, "ingress": ingress,
		"claimSize": claimSize, "capacity": capacity, "volumeSource": volumeSource, "eventNamespace": eventNamespace, "taints": taints, "priority": priority,
		"scopes": scopes, "fullName": fullName, "apiService": apiService, "clientConfig": clientConfig,
		"absent": absent, "atMost": atMost, "one": one, "labelName": labelName, "cidr": cidr, "fieldPath": fieldPath, "affinityTime": affinityTime,
		"sizes": sizes, "quotaNames": quotaNames, "sources": sources, "hostPorts": hostPorts, "gated": gated, "jobSelector": jobSelector,
		"serviceStatus": serviceStatus, "metric": metric, "backendPort": backendPort, "peer": peer, "sliceAddresses": sliceAddresses,
		"slicePorts": slicePorts, "attached": attached, "parsedSelector": parsedSelector,
	}
}

// empty reports whether a value counts as left out.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// invalid is one error.
func invalid(path *field.Path, value any, detail string) field.ErrorList {
	return field.ErrorList{field.Invalid(path, value, detail)}
}

func optional(any, *scope, *field.Path, []string) field.ErrorList { return nil }

func required(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	if !empty(v) {
		return nil
	}
	return field.ErrorList{field.Required(path, strings.Join(args, " "))}
}

// given is required for what may be empty.
func given(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	if v != nil {
		return nil
	}
	return field.ErrorList{field.Required(path, strings.Join(args, " "))}
}

func enum(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	for _, known := range args {
		if v == known {
			return nil
		}
	}
	if empty(v) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, v, args)}
}

// either is enum in the words of stateful sets.
func either(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	if empty(v) || v == args[0] || v == args[1] {
		return nil
	}
	return invalid(path, v, fmt.Sprintf("must be '%s' or '%s'", args[0], args[1]))
}

func atLeast(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	least, _ := strconv.ParseInt(args[0], 10, 64)
	if n, ok := v.(int64); ok && n < least {
		return invalid(path, n, "must be greater than or equal to "+args[len(args)-1])
	}
	return nil
}

func positive(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	if n, ok := v.(int64); ok && n <= 0 {
		return invalid(path, n, cmp.Or(strings.Join(args, " "), "must be greater than 0"))
	}
	return nil
}

func one(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if n, ok := v.(int64); ok && n != 1 {
		return invalid(path, n, "must be 1")
	}
	return nil
}

// atMost compares a count of a status with another one.
func atMost(v any, sc *scope, path *field.Path, args []string) field.ErrorList {
	n, _ := v.(int64)
	if limit, _ := dig(sc.object, "status", strings.TrimPrefix(args[0], "status.")).(int64); n > limit {
		return invalid(path, n, "cannot be greater than "+args[0])
	}
	return nil
}

// absent forbids a field.
func absent(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	if empty(v) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, strings.Join(args, " "))}
}

// nonzero is required for a number.
func nonzero(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if n, _ := v.(int64); n == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

func within(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	first, _ := strconv.Atoi(args[0])
	last, _ := strconv.Atoi(args[1])
	if n, ok := v.(int64); ok && (n < int64(first) || n > int64(last)) && (n != 0 || !strings.HasSuffix(path.String(), "hostPort") && !strings.HasSuffix(path.String(), "containerPort")) {
		return invalid(path, n, util.InclusiveRangeError(first, last))
	}
	return nil
}

// formats are the formats of names.
var formats = map[string]func(string) []string{
	"label": util.IsDNS1123Label, "subdomain": util.IsDNS1123Subdomain, "portName": util.IsValidPortName, "env": util.IsRelaxedEnvVarName,
	"qualified": func(s string) []string { return util.IsQualifiedName(s) },
	"absolute": func(s string) []string {
		if strings.HasPrefix(s, "/") {
			return nil
		}
		return []string{"must be an absolute path"}
	},
	"host": func(s string) []string {
		if _, err := netip.ParseAddr(s); err == nil {
			return []string{"must be a DNS name, not an IP address"}
		}
		if strings.HasPrefix(s, "*") {
			return util.IsWildcardDNS1123Subdomain(s)
		}
		return util.IsDNS1123Subdomain(s)
	},
	"prefixedPath": func(s string) []string {
		if _, rest, ok := strings.Cut(s, "/"); ok && rest != "" {
			return nil
		}
		return []string{`must be a domain-prefixed path (such as "acme.io/foo")`}
	},
}

func format(v any, _ *scope, path *field.Path, args []string) field.ErrorList {
	var errs field.ErrorList
	if s, ok := v.(string); ok && (s != "" || len(args) > 1) {
		for _, detail := range formats[args[0]](s) {
			errs = append(errs, field.Invalid(path, s, detail))
		}
	}
	return errs
}

// texts is an object of strings.
func texts(v any) map[string]string {
	object, _ := v.(map[string]any)
	if object == nil {
		return nil
	}
	out := make(map[string]string, len(object))
	for k, v := range object {
		out[k], _ = v.(string)
	}
	return out
}

func labels(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	return metavalidation.ValidateLabels(texts(v), path)
}

func annotations(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	return validation.ValidateAnnotations(texts(v), path)
}

func use(v any, sc *scope, path *field.Path, args []string) field.ErrorList {
	object, ok := v.(map[string]any)
	if !ok {
		if args[0] != "#template" && args[0] != "#pod" {
			return nil
		}
	}
	return section(args[0], object, *sc, path)
}

// list applies a section to each element of a list, in which a field must be unique.
func list(v any, sc *scope, path *field.Path, args []string) field.ErrorList {
	items, _ := v.([]any)
	name := strings.TrimPrefix(args[0], "unique=")
	seen := map[any]bool{}
	var errs field.ErrorList
	for i, item := range items {
		errs = append(errs, use(item, sc, path.Index(i), args[1:])...)
		if key := dig(item, name); !empty(key) {
			if seen[key] {
				errs = append(errs, field.Duplicate(path.Index(i).Child(name), key))
			}
			seen[key] = true
		}
	}
	return errs
}

// ip checks an address, or an object with one.
func ip(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if object, ok := v.(map[string]any); ok {
		v = object["ip"]
	}
	if s, _ := v.(string); s != "" {
		if _, err := netip.ParseAddr(s); err != nil {
			return invalid(path, s, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
		}
	}
	return nil
}

func cidr(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if s, _ := v.(string); s != "" {
		if _, err := netip.ParsePrefix(s); err != nil {
			return invalid(path, s, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
		}
	}
	return nil
}

func labelName(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	s, _ := v.(string)
	return metavalidation.ValidateLabelName(s, path)
}

// fieldPaths are the fields that an environment variable can show.
var fieldPaths = map[string]bool{
	"metadata.name": true, "metadata.namespace": true, "metadata.uid": true, "metadata.labels": true, "metadata.annotations": true, "spec.nodeName": true,
	"spec.serviceAccountName": true, "status.hostIP": true, "status.hostIPs": true, "status.podIP": true, "status.podIPs": true,
}

func fieldPath(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	s, ok := v.(string)
	if name, _, _ := strings.Cut(s, "["); !ok || fieldPaths[name] {
		return nil
	}
	return invalid(path, s, "error converting fieldPath: field label not supported: "+s)
}

func affinityTime(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if n, ok := v.(int64); ok && (n <= 0 || n > 86400) {
		return invalid(path, n, "must be greater than 0 and less than 86400")
	}
	return nil
}

func trimmed(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if s, _ := v.(string); s != strings.TrimSpace(s) {
		return invalid(path, s, "must not have leading or trailing whitespace")
	}
	return nil
}

// port checks a number or name of a port.
func port(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if n, ok := v.(int64); ok && (n < 1 || n > 65535) {
		return invalid(path, n, util.InclusiveRangeError(1, 65535))
	}
	return format(v, nil, path, []string{"portName"})
}

// portion checks a number or percentage.
func portion(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	s, ok := v.(string)
	if !ok {
		return atLeast(v, nil, path, []string{"0"})
	}
	var errs field.ErrorList
	for _, detail := range util.IsValidPercent(s) {
		errs = append(errs, field.Invalid(path, s, detail))
	}
	if n, _ := strconv.Atoi(strings.TrimSuffix(s, "%")); len(errs) == 0 && n > 100 {
		errs = append(errs, field.Invalid(path, s, "must not be greater than 100%"))
	}
	return errs
}

// selectorOf converts a selector; nil if there is none.
func selectorOf(v any) *metav1.LabelSelector {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	s := &metav1.LabelSelector{}
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(object, s) // it has been read into its Go type before
	return s
}

func selector(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	if s := selectorOf(v); s != nil {
		return metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, path)
	}
	return nil
}

// parsedSelector is selector where a cluster also says that it cannot use it.
func parsedSelector(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	errs := selector(v, nil, path, nil)
	if _, err := metav1.LabelSelectorAsSelector(selectorOf(v)); err != nil {
		errs = append(errs, field.Invalid(path, nil, "invalid label selector."))
	}
	return errs
}

func timeZone(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	if s == "" {
		return invalid(path, s, "timeZone must be nil or non-empty string")
	}
	if _, err := time.LoadLocation(s); err != nil {
		return invalid(path, s, err.Error())
	}
	return nil
}

func modes(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	items, _ := v.([]any)
	for _, mode := range items {
		errs = append(errs, enum(mode, nil, path, []string{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"})...)
	}
	return errs
}

func scopes(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	items, _ := v.([]any)
	for _, item := range items {
		switch item {
		case "BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating", "VolumeAttributesClass":
		default:
			return invalid(path, v, "unsupported scope")
		}
	}
	return nil
}

func fullName(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	s, _ := v.(string)
	return util.IsFullyQualifiedName(path, s)
}

// quantity reads an amount.
func quantity(v any) (resource.Quantity, bool) {
	s, _ := v.(string)
	q, err := resource.ParseQuantity(s)
	return q, err == nil
}

// sizes is amounts in the words of a claim's status.
func sizes(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sorted(v) {
		if q, ok := quantity(dig(v, name)); ok && q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(name), q.Value(), "must be a valid resource quantity"))
		}
	}
	return errs
}

// quotas are the names without a domain that a quota can limit.
const quotas = " cpu memory ephemeral-storage requests.cpu requests.memory requests.storage requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage pods services replicationcontrollers resourcequotas secrets configmaps persistentvolumeclaims services.nodeports services.loadbalancers "

func quotaNames(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sorted(v) {
		if !strings.Contains(name, "/") && !strings.Contains(name, "hugepages-") && !strings.Contains(quotas, " "+name+" ") {
			errs = append(errs, field.Invalid(path.Key(name), name, "must be a standard resource type or fully qualified"), field.Invalid(path.Key(name), name, "must be a standard resource for quota"))
		}
	}
	return errs
}

func amounts(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sorted(v) {
		if q, ok := quantity(dig(v, name)); ok && q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(name), q.String(), "must be greater than or equal to 0"))
		}
	}
	return errs
}
