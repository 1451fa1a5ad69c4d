package informertest

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// ingressHosts is the cell Hosts of an Ingress; rules without a host are for all of
// them.
func ingressHosts(ingress map[string]any) any {
	var hosts []string
	for _, rule := range objectsAt(ingress, "spec", "rules") {
		if host := stringAt(rule, "host"); host != "" {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) == 0 {
		return "*"
	}
	return firstOf(hosts, shown, ",")
}

// balancerAddresses are where a load balancer answers.
func balancerAddresses(o map[string]any) any {
	addresses := map[string]bool{}
	for _, point := range objectsAt(o, "status", "loadBalancer", "ingress") {
		if address := or(at(point, "hostname"), "ip")(point); address != nil {
			addresses[fmt.Sprint(address)] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(addresses)), ",")
}

// ingressPorts is the cell Ports of an Ingress. An Ingress names no ports: they are
// those of HTTP, and of HTTPS if there is a certificate.
func ingressPorts(ingress map[string]any) any {
	if len(objectsAt(ingress, "spec", "tls")) > 0 {
		return "80, 443"
	}
	return "80"
}

// ingressParameters is the cell Parameters of an IngressClass: the object that
// configures its controller, with kind and group.
func ingressParameters(class map[string]any) any {
	parameters, ok := at(class, "spec", "parameters").(map[string]any)
	if !ok {
		return "<none>"
	}
	kind := stringAt(parameters, "kind")
	if group, ok := parameters["apiGroup"]; ok {
		kind = fmt.Sprint(kind, ".", group)
	}
	return kind + "/" + stringAt(parameters, "name")
}

// endpointAddresses is the cell Endpoints: each address with each port of its subset.
// Subsets without a port, as of a headless service, show the addresses alone.
func endpointAddresses(endpoints map[string]any) any {
	subsets := objectsAt(endpoints, "subsets")
	if len(subsets) == 0 {
		return "<none>"
	}
	var list []string
	for _, subset := range subsets {
		ports := objectsAt(subset, "ports")
		for _, port := range ports {
			for _, address := range objectsAt(subset, "addresses") {
				list = append(list, net.JoinHostPort(stringAt(address, "ip"), fmt.Sprint(port["port"])))
			}
		}
		if len(ports) == 0 {
			for _, address := range objectsAt(subset, "addresses") {
				list = append(list, stringAt(address, "ip"))
			}
		}
	}
	return firstOf(list, shown, ",")
}

// slicePorts is the cell Ports of an EndpointSlice: numbers, names where a port has no
// number, or * for all.
func slicePorts(slice map[string]any) any {
	var list []string
	for _, port := range objectsAt(slice, "ports") {
		list = append(list, fmt.Sprint(or(or("*", "name")(port), "port")(port)))
	}
	return unset(firstOf(list, shown, ","))
}

// sliceAddresses is the cell Endpoints of an EndpointSlice, ready or not.
func sliceAddresses(slice map[string]any) any {
	var list []string
	for _, endpoint := range objectsAt(slice, "endpoints") {
		list = append(list, stringsAt(endpoint, "addresses")...)
	}
	return unset(firstOf(list, shown, ","))
}

// addressOwner is what an address was given to.
func addressOwner(address map[string]any) any {
	owner, ok := at(address, "spec", "parentRef").(map[string]any)
	if !ok {
		return "<none>"
	}
	text := stringAt(owner, "resource")
	if group := stringAt(owner, "group"); group != "" {
		text += "." + group
	}
	for _, part := range []string{stringAt(owner, "namespace"), stringAt(owner, "name")} {
		if part != "" {
			text += "/" + part
		}
	}
	return text
}

// serviceOfAPI is the cell Service of an APIService. One without a service is served by
// kube-apiserver itself.
func serviceOfAPI(api map[string]any) any {
	if name := stringAt(api, "spec", "service", "name"); name != "" {
		return stringAt(api, "spec", "service", "namespace") + "/" + name
	}
	return "Local"
}

// availability is the cell Available of an APIService, with the reason if it is not.
func availability(api map[string]any) any {
	for _, c := range objectsAt(api, "status", "conditions") {
		if c["type"] != "Available" {
			continue
		}
		if c["status"] == "True" {
			return "True"
		}
		return fmt.Sprintf("%v (%v)", c["status"], c["reason"])
	}
	return "Unknown"
}
