package defaults

import "strings"

// podSpec completes the specification of a pod, in a Pod or in a template.
var podSpec = rules{
	{"", edit(accountNames)},
	{"restartPolicy", "Always"},
	{"dnsPolicy", "ClusterFirst"},
	{"schedulerName", "default-scheduler"},
	{"securityContext", object{}},
	{"terminationGracePeriodSeconds", 30},
	{"containers[]", container},
	{"initContainers[]", container},
	{"ephemeralContainers[]", container},
	{"volumes[]", volume},
}

// container completes a container of any sort.
var container = rules{
	{"imagePullPolicy", pullPolicy},
	{"terminationMessagePath", "/dev/termination-log"},
	{"terminationMessagePolicy", "File"},
	{"resources", object{}},
	{"ports[].protocol", "TCP"},
	{"env[].valueFrom.fieldRef.apiVersion", "v1"},
	{"livenessProbe", probe},
	{"readinessProbe", probe},
	{"startupProbe", probe},
	{"lifecycle.postStart.httpGet", httpGet},
	{"lifecycle.preStop.httpGet", httpGet},
}

var probe = rules{
	{"timeoutSeconds", 1},
	{"periodSeconds", 10},
	{"successThreshold", 1},
	{"failureThreshold", 3},
	{"httpGet", httpGet},
	{"grpc.service", ""},
}

var httpGet = rules{
	{"path", "/"},
	{"scheme", "HTTP"},
}

// volume completes a volume. One without a source is an empty directory.
var volume = rules{
	{"emptyDir", func(v object) any {
		if len(v) == 1 && v["name"] != nil {
			return object{}
		}
		return nil
	}},
	{"secret.defaultMode", 0o644},
	{"configMap.defaultMode", 0o644},
	{"downwardAPI.defaultMode", 0o644},
	{"downwardAPI.items[].fieldRef.apiVersion", "v1"},
	{"projected.defaultMode", 0o644},
	{"projected.sources[].serviceAccountToken.expirationSeconds", 3600},
	{"projected.sources[].downwardAPI.items[].fieldRef.apiVersion", "v1"},
	{"hostPath.type", ""},
	{"iscsi.iscsiInterface", "default"},
	{"rbd", rules{{"pool", "rbd"}, {"user", "admin"}, {"keyring", "/etc/ceph/keyring"}}},
	{"azureDisk", rules{{"cachingMode", "ReadWrite"}, {"fsType", "ext4"}, {"kind", "Shared"}, {"readOnly", false}}},
	{"scaleIO", rules{{"fsType", "xfs"}, {"storageMode", "ThinProvisioned"}}},
	{"ephemeral.volumeClaimTemplate.spec.volumeMode", "Filesystem"},
}

// pod completes what only a Pod itself has, not a template.
var pod = rules{
	{"spec.enableServiceLinks", true},
	{"spec", podSpec},
	{"spec", edit(hostPorts)},
	{"spec.containers[].resources", edit(requestsFromLimits)},
	{"spec.initContainers[].resources", edit(requestsFromLimits)},
	{"spec", edit(tolerateLostNodes)},
	{"status", edit(listAddress)},
}

// podCreated is the state of a new pod.
var podCreated = rules{
	{"status", object{}},
	{"status.phase", "Pending"},
}

// listAddress puts the address of a pod into the list of its addresses.
func listAddress(status object) {
	ip, _ := status["podIP"].(string)
	if ip == "" {
		return
	}
	if list, _ := status["podIPs"].([]any); len(list) > 0 {
		if first, _ := list[0].(object); first["ip"] == ip {
			return
		}
	}
	status["podIPs"] = []any{object{"ip": ip}}
}

// pullPolicy is Always for an image that may change under its name.
func pullPolicy(c object) any {
	image, _ := c["image"].(string)
	if image == "" {
		return "IfNotPresent"
	}
	name, digest, _ := strings.Cut(image, "@")
	last := name[strings.LastIndexByte(name, '/')+1:]
	_, tag, _ := strings.Cut(last, ":")
	if tag == "latest" || tag == "" && digest == "" {
		return "Always"
	}
	return "IfNotPresent"
}

// hostPorts gives the ports of a pod on the host's network the same number there.
func hostPorts(spec object) {
	if spec["hostNetwork"] != true {
		return
	}
	same := rules{{"hostPort", func(port object) any { return port["containerPort"] }}}
	rules{{"containers[].ports[]", same}, {"initContainers[].ports[]", same}}.apply(spec)
}

// requestsFromLimits requests what is limited.
func requestsFromLimits(resources object) {
	limits, _ := resources["limits"].(object)
	if len(limits) == 0 {
		return
	}
	requests, ok := resources["requests"].(object)
	if !ok {
		requests = object{}
		resources["requests"] = requests
	}
	for name, limit := range limits {
		if _, ok := requests[name]; !ok {
			requests[name] = limit
		}
	}
}

// tolerateLostNodes lets a pod stay five minutes on a node that is not ready or
// not reachable, unless it says something else about such nodes.
func tolerateLostNodes(spec object) {
	have, _ := spec["tolerations"].([]any)
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		if !tolerates(have, key) {
			have = append(have, object{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)})
		}
	}
	spec["tolerations"] = have
}

// tolerates reports whether a toleration covers the NoExecute taint of a key.
func tolerates(tolerations []any, key string) bool {
	for _, t := range tolerations {
		t, _ := t.(object)
		k, _ := t["key"].(string)
		effect, _ := t["effect"].(string)
		if (k == key || k == "") && (effect == "NoExecute" || effect == "") {
			return true
		}
	}
	return false
}

// accountNames keeps the old name of serviceAccountName beside the new one, which
// wins.
func accountNames(spec object) {
	for _, name := range []any{spec["serviceAccountName"], spec["serviceAccount"]} {
		if name != nil && name != "" {
			spec["serviceAccountName"], spec["serviceAccount"] = name, name
			return
		}
	}
}
