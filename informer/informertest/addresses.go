package informertest

import (
	"fmt"
	"net"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The ranges from which services get addresses and node ports.
const (
	firstNodePort = 30000
	lastNodePort  = 32767
	lastAddress   = 1<<16 - 2 // of 10.96.0.0/16
)

// addresses hands out cluster IPs and node ports, in turn, so that two runs of a
// test see the same ones. Guarded by the store's lock.
type addresses struct {
	ip, port int
	// holders are the keys of the services that got an address (a string) or a
	// port (an int64). An entry whose service is gone counts for nothing.
	holders map[any]string
}

// assign gives a service the addresses that its type calls for. Those that it
// had, and that an update leaves out, it keeps; those of others it may not take.
func (a *addresses) assign(c *collection, old, service *unstructured.Unstructured) field.ErrorList {
	spec, ok := service.Object["spec"].(map[string]any)
	if !ok {
		return nil
	}
	if old != nil {
		keepAddresses(old, spec)
		dropByType(old, service)
	}
	if spec["type"] == "ExternalName" {
		return nil
	}
	holder := c.res.key(service.GetNamespace(), service.GetName())
	path := field.NewPath("spec")
	var errs field.ErrorList
	switch ip, _ := spec["clusterIP"].(string); {
	case ip == "":
		spec["clusterIP"] = a.nextIP(c, holder)
	case ip != "None" && net.ParseIP(ip) == nil:
		errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(0), ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"))
	case ip != "None" && !a.take(c, ip, holder):
		errs = append(errs, field.Invalid(path.Child("clusterIPs"), []string{ip}, "failed to allocate IP "+ip+": provided IP is already allocated"))
	}
	if spec["clusterIPs"] == nil {
		spec["clusterIPs"] = []any{spec["clusterIP"]}
	}
	if spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local" && spec["healthCheckNodePort"] == nil {
		spec["healthCheckNodePort"] = a.nextPort(c, holder)
	}
	wanted := spec["type"] == "NodePort" || spec["type"] == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] != false
	for i, port := range portsOf(spec) {
		switch n, _ := port["nodePort"].(int64); {
		case n == 0 && wanted:
			port["nodePort"] = a.nextPort(c, holder)
		case n != 0 && wanted && (n < firstNodePort || n > lastNodePort):
			errs = append(errs, field.Invalid(path.Child("ports").Index(i).Child("nodePort"), n, fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort)))
		case n != 0 && wanted && !a.take(c, n, holder):
			errs = append(errs, field.Invalid(path.Child("ports").Index(i).Child("nodePort"), n, "provided port is already allocated"))
		}
	}
	return errs
}

// take reserves an address or port unless another service has it.
func (a *addresses) take(c *collection, value any, holder string) bool {
	if by, ok := a.holders[value]; ok && by != holder && c.items[by] != nil {
		return false
	}
	if a.holders == nil {
		a.holders = map[any]string{}
	}
	a.holders[value] = holder
	return true
}

// nextIP takes an address that no service has.
func (a *addresses) nextIP(c *collection, holder string) string {
	for range lastAddress {
		a.ip = a.ip%lastAddress + 1
		if ip := fmt.Sprintf("10.96.%d.%d", a.ip>>8, a.ip&0xff); a.take(c, ip, holder) {
			return ip
		}
	}
	return "None" // sixty thousand services: there is no address left
}

// nextPort takes a node port that no service has.
func (a *addresses) nextPort(c *collection, holder string) int64 {
	const ports = lastNodePort - firstNodePort + 1
	for range ports {
		port := int64(firstNodePort + a.port)
		a.port = (a.port + 1) % ports
		if a.take(c, port, holder) {
			return port
		}
	}
	return 0 // there is no port left
}

// keepAddresses copies what an update of a service leaves out, as long as the
// type still needs it.
func keepAddresses(old *unstructured.Unstructured, spec map[string]any) {
	before, _, _ := unstructured.NestedMap(old.Object, "spec")
	if spec["type"] == "ExternalName" {
		return
	}
	if ip := spec["clusterIP"]; ip != nil && ip != "" && before["clusterIP"] != nil && ip != before["clusterIP"] && reflect.DeepEqual(spec["clusterIPs"], before["clusterIPs"]) {
		spec["clusterIPs"] = []any{ip} // the list follows the older field
	}
	if ip := spec["clusterIP"]; (ip == nil || ip == "") && before["clusterIP"] != nil {
		spec["clusterIP"], spec["clusterIPs"] = before["clusterIP"], before["clusterIPs"]
	}
	if spec["type"] == "ClusterIP" {
		return
	}
	known := map[string]any{}
	for _, port := range portsOf(before) {
		known[fmt.Sprint(port["protocol"], port["port"])] = port["nodePort"]
	}
	for _, port := range portsOf(spec) {
		if had := known[fmt.Sprint(port["protocol"], port["port"])]; port["nodePort"] == nil && had != nil {
			port["nodePort"] = had
		}
	}
}

// dropByType clears what a service had as one of another type and an update leaves as it
// was. What the update changes too is left for validation to refuse.
func dropByType(old, service *unstructured.Unstructured) {
	before, _, _ := unstructured.NestedMap(old.Object, "spec")
	spec := service.Object["spec"].(map[string]any) // assign has looked
	drop := func(names ...string) {
		for _, name := range names {
			if reflect.DeepEqual(before[name], spec[name]) {
				delete(spec, name)
			}
		}
	}
	balanced := func(spec map[string]any) bool { return spec["type"] == "LoadBalancer" }
	exposed := func(spec map[string]any) bool { return balanced(spec) || spec["type"] == "NodePort" }
	checked := func(spec map[string]any) bool { return balanced(spec) && spec["externalTrafficPolicy"] == "Local" }
	if before["type"] != "ExternalName" && spec["type"] == "ExternalName" {
		drop("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
	}
	if checked(before) && !checked(spec) {
		drop("healthCheckNodePort")
	}
	if balanced(before) && !balanced(spec) {
		drop("allocateLoadBalancerNodePorts", "loadBalancerClass")
		delete(service.Object, "status")
		_ = unstructured.SetNestedMap(service.Object, map[string]any{}, "status", "loadBalancer")
	}
	if !exposed(before) || exposed(spec) {
		return
	}
	drop("externalTrafficPolicy")
	had := map[any]bool{nil: true}
	for _, port := range portsOf(before) {
		had[port["nodePort"]] = true
	}
	if !slices.ContainsFunc(portsOf(spec), func(port map[string]any) bool { return !had[port["nodePort"]] }) {
		for _, port := range portsOf(spec) {
			delete(port, "nodePort")
		}
	}
}

// portsOf are the ports in the specification of a service.
func portsOf(spec map[string]any) []map[string]any {
	list, _ := spec["ports"].([]any)
	var ports []map[string]any
	for _, p := range list {
		if port, ok := p.(map[string]any); ok {
			ports = append(ports, port)
		}
	}
	return ports
}
