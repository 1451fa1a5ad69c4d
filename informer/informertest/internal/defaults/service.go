package defaults

// service completes a service as far as that needs no address: cluster IPs and
// node ports are allocated elsewhere.
var service = rules{
	{"spec.type", "ClusterIP"},
	{"spec.sessionAffinity", "None"},
	{"spec.sessionAffinityConfig", when("sessionAffinity", "ClientIP", object{})},
	{"spec.sessionAffinityConfig.clientIP", object{}},
	{"spec.sessionAffinityConfig.clientIP.timeoutSeconds", 10800},
	{"spec.ports[].protocol", "TCP"},
	{"spec.ports[]", edit(func(port object) {
		if to := port["targetPort"]; to == nil || to == "" || to == int64(0) {
			port["targetPort"] = port["port"]
		}
	})},
	{"spec.internalTrafficPolicy", unlessExternalName("Cluster")},
	{"spec", edit(withoutPods)},
	{"spec.ipFamilies", unlessExternalName([]any{"IPv4"})},
	{"spec.ipFamilyPolicy", unlessExternalName("SingleStack")},
	{"spec.externalTrafficPolicy", when("type", "NodePort", "Cluster")},
	{"spec.externalTrafficPolicy", when("type", "LoadBalancer", "Cluster")},
	{"spec.externalTrafficPolicy", whenPresent("externalIPs", "Cluster")},
	{"spec.allocateLoadBalancerNodePorts", when("type", "LoadBalancer", true)},
}

// withoutPods gives a headless service that selects no pods both address families:
// whatever its endpoints are, they are somewhere else.
func withoutPods(spec object) {
	selector, _ := spec["selector"].(object)
	families, _ := spec["ipFamilies"].([]any)
	if spec["clusterIP"] != "None" || len(selector) > 0 || spec["ipFamilyPolicy"] != nil || len(families) > 0 {
		return
	}
	spec["ipFamilyPolicy"], spec["ipFamilies"] = "RequireDualStack", []any{"IPv4", "IPv6"}
}

// unlessExternalName is a value that services with addresses of their own get.
func unlessExternalName(value any) func(object) any {
	return func(spec object) any {
		if spec["type"] == "ExternalName" {
			return nil
		}
		return value
	}
}
