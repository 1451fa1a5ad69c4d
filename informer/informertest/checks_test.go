package informertest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer/informertest"
)

const (
	goodContainer = `{"name":"c","image":"i"}`
	goodTemplate  = `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[` + goodContainer + `]}}`
	jobTemplate   = `{"spec":{"restartPolicy":"Never","containers":[` + goodContainer + `]}}`
)

// Each was compared with a kube-apiserver, word by word.
func TestClientsCannotStoreWhatAClusterRefuses(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	paths := map[string]string{
		"deployments": "/apis/apps/v1/", "replicasets": "/apis/apps/v1/", "statefulsets": "/apis/apps/v1/", "daemonsets": "/apis/apps/v1/", "jobs": "/apis/batch/v1/", "cronjobs": "/apis/batch/v1/",
		"leases": "/apis/coordination.k8s.io/v1/", "poddisruptionbudgets": "/apis/policy/v1/", "horizontalpodautoscalers": "/apis/autoscaling/v2/", "roles": "/apis/rbac.authorization.k8s.io/v1/",
		"rolebindings": "/apis/rbac.authorization.k8s.io/v1/", "ingresses": "/apis/networking.k8s.io/v1/", "endpointslices": "/apis/discovery.k8s.io/v1/",
	}
	for _, c := range [][3]string{
		{"pods", `{"metadata":{"name":"x"},"spec":{}}`, `spec.containers: Required value`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c"},{"image":"i"}]}}`, `[spec.containers[0].image: Required value, spec.containers[1].name: Required value]`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"initContainers":[` + goodContainer + `],"containers":[` + goodContainer + `]}}`, `spec.initContainers[0].name: Duplicate value: "c"`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"restartPolicy":"Sometimes","containers":[` + goodContainer + `]}}`, `spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":70000,"protocol":"X"}]}]}}`, `[spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive, spec.containers[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"]`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"v","mountPath":"/x"}]}]}}`, `spec.containers[0].volumeMounts[0].name: Not found: "v"`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]}}`, `spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","livenessProbe":{"periodSeconds":-1}}]}}`, `[spec.containers[0].livenessProbe: Required value: must specify a handler type, spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0]`},
		{"deployments", `{"metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"c"}},"template":` + goodTemplate + `}}`, "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"},
		{"deployments", `{"metadata":{"name":"x"},"spec":{"replicas":-1,"minReadySeconds":-1,"selector":{"matchLabels":{"a":"b"}},"template":` + goodTemplate + `}}`, `[spec.replicas: Invalid value: -1: must be greater than or equal to 0, spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0]`},
		{"deployments", `{"metadata":{"name":"x"},"spec":{"selector":{},"template":` + goodTemplate + `}}`, `spec.selector: Invalid value: {}: empty selector is invalid for deployment`},
		{"deployments", `{"metadata":{"name":"x"},"spec":{"strategy":{"type":"Frob"},"selector":{"matchLabels":{"a":"b"}},"template":` + goodTemplate + `}}`, `spec.strategy: Unsupported value: {"Type":"Frob","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"`},
		{"replicasets", `{"metadata":{"name":"x"}}`, "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`, spec.template.spec.containers: Required value]"},
		{"statefulsets", `{"metadata":{"name":"x"},"spec":{"podManagementPolicy":"X","selector":{"matchLabels":{"a":"b"}},"template":` + goodTemplate + `}}`, `spec.podManagementPolicy: Invalid value: "X": must be 'OrderedReady' or 'Parallel'`},
		{"jobs", `{"metadata":{"name":"x"},"spec":{"template":` + goodTemplate + `}}`, `spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{"cronjobs", `{"metadata":{"name":"x"},"spec":{"schedule":"frob","jobTemplate":{"spec":{"template":` + jobTemplate + `}}}}`, `spec.schedule: Invalid value: "frob": expected exactly 5 fields, found 1: [frob]`},
		{"cronjobs", `{"metadata":{"name":"x"},"spec":{"schedule":"0 25 * * *","jobTemplate":{"spec":{"template":` + jobTemplate + `}}}}`, `end of range (25) above maximum (23): 25`},
		{"cronjobs", `{"metadata":{"name":"` + strings.Repeat("x", 53) + `"},"spec":{"schedule":"*/5 8-18 * jan mon-fri","jobTemplate":{"spec":{"template":` + jobTemplate + `}}}}`, `must be no more than 52 characters`},
		{"services", `{"metadata":{"name":"x"},"spec":{}}`, `spec.ports: Required value`},
		{"services", `{"metadata":{"name":"x"},"spec":{"ports":[{"port":80},{"port":81}]}}`, `[spec.ports[0].name: Required value, spec.ports[1].name: Required value]`},
		{"services", `{"metadata":{"name":"x"},"spec":{"ports":[{"port":80,"nodePort":30001}]}}`, "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
		{"services", `{"metadata":{"name":"x.y"},"spec":{"ports":[{"port":80}]}}`, `metadata.name: Invalid value: "x.y"`},
		{"configmaps", `{"metadata":{"name":"x"},"data":{"a b":"x"}}`, `data[a b]: Invalid value: "a b": a valid config key must consist of`},
		{"configmaps", `{"metadata":{"name":"x"},"data":{"a":"` + strings.Repeat("x", 1<<20+1) + `"}}`, `Too long: may not be more than 1048576 bytes`},
		{"secrets", `{"metadata":{"name":"x"},"type":"kubernetes.io/tls","data":{"a":"eA=="}}`, `[data[tls.crt]: Required value, data[tls.key]: Required value]`},
		{"leases", `{"metadata":{"name":"x"},"spec":{"leaseDurationSeconds":0}}`, `spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0`},
		{"poddisruptionbudgets", `{"metadata":{"name":"x"},"spec":{"minAvailable":1,"maxUnavailable":1}}`, `minAvailable and maxUnavailable cannot be both set`},
		{"horizontalpodautoscalers", `{"metadata":{"name":"x"},"spec":{"minReplicas":5,"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"}}}`, "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"},
		{"rolebindings", `{"metadata":{"name":"x"},"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"X","name":"y"}]}`, `subjects[0].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"`},
		{"roles", `{"metadata":{"name":"x"},"rules":[{"verbs":["get"]}]}`, `rules[0].resources: Required value: resource rules must supply at least one resource`},
		{"roles", `{"metadata":{"name":"a/b"},"rules":[]}`, `metadata.name: Invalid value: "a/b": may not contain '/'`},
		{"ingresses", `{"metadata":{"name":"x"},"spec":{}}`, "either `defaultBackend` or `rules` must be specified"},
		{"persistentvolumeclaims", `{"metadata":{"name":"x"},"spec":{}}`, `[spec.accessModes: Required value: at least 1 access mode is required, spec.resources[storage]: Required value]`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"schedulingGates":[{"name":"a"}],"nodeName":"n","containers":[` + goodContainer + `]}}`, `spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"volumes":[{"name":"v","configMap":{}},{"name":"w","secret":{}},{"name":"y","hostPath":{"path":""}}],"containers":[` + goodContainer + `]}}`, `[spec.volumes[0].configMap.name: Required value, spec.volumes[1].secret.secretName: Required value, spec.volumes[2].hostPath.path: Required value]`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"spec.frob"}}}],"envFrom":[{}],"lifecycle":{"preStop":{}}}]}}`, "[spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.frob\": error converting fieldPath: field label not supported: spec.frob, spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`, spec.containers[0].lifecycle.preStop: Required value: must specify a handler type]"},
		{"pods", `{"metadata":{"name":"x"},"spec":{"initContainers":[{"name":"i","image":"i","readinessProbe":{"exec":{"command":["x"]}}}],"containers":[{"name":"c","image":"i","ports":[{"containerPort":1,"hostPort":2},{"containerPort":2,"hostPort":2}]}]}}`, `[spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//2", spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always]`},
		{"pods", `{"metadata":{"name":"x"},"spec":{"ephemeralContainers":[{"name":"e","image":"i"}],"containers":[` + goodContainer + `]}}`, `spec.ephemeralContainers: Forbidden: cannot be set on create`},
		{"statefulsets", `{"metadata":{"name":"x"},"spec":{"serviceName":"Bad_","selector":{"matchLabels":{"a":"b"}},"template":` + goodTemplate + `,"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{}}]}}`, `[spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required, spec.volumeClaimTemplates[0].spec.resources[storage]: Required value, spec.serviceName: Invalid value: "Bad_"`},
		{"jobs", `{"metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"restartPolicy":"Never","containers":[` + goodContainer + `]}}}}`, "`selector` not auto-generated"},
		{"services", `{"metadata":{"name":"x"},"spec":{"externalTrafficPolicy":"Local","internalTrafficPolicy":"X","ports":[{"port":80}]}}`, `[spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services, spec.internalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"]`},
		{"services", `{"metadata":{"name":"x"},"spec":{"type":"ExternalName","externalName":"x.test","clusterIP":"10.0.0.1"}}`, `spec.clusterIPs: Forbidden: may not be set for ExternalName services`},
		{"horizontalpodautoscalers", `{"metadata":{"name":"x"},"spec":{"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"metrics":[{"type":"Resource"},{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization"}}}]}}`, `[spec.metrics[0].resource: Required value: must populate information for the given metric source, spec.metrics[1].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization]`},
		{"ingresses", `{"metadata":{"name":"x"},"spec":{"rules":[{"host":"1.2.3.4","http":{"paths":[]}}]}}`, `[spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address, spec.rules[0].http.paths: Required value]`},
		{"endpointslices", `{"metadata":{"name":"x"},"addressType":"IPv4","endpoints":[{"addresses":["x"]}],"ports":[{"name":"a"},{"name":"a"}]}`, `[endpoints[0].addresses[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff), ports[1].name: Duplicate value: "a"]`},
		{"endpointslices", `{"metadata":{"name":"x"},"addressType":"X","endpoints":[]}`, `addressType: Unsupported value: "X": supported values: "FQDN", "IPv4", "IPv6"`},
	} {
		path := "POST " + c[0]
		if paths[c[0]] != "" {
			path = "POST " + paths[c[0]] + "namespaces/default/" + c[0]
		}
		run(t, server, []request{{path, c[1], 422, c[2]}})
	}
}

// Promise informer/informertest/1
func TestClientsCannotStoreAStatusThatAClusterRefuses(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	const apps = "/apis/apps/v1/namespaces/default/"
	workload := `{"metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + goodTemplate + `}}`
	run(t, server, []request{
		{"POST " + apps + "deployments", workload, 201, ""},
		{"PATCH:merge " + apps + "deployments/x/status", `{"status":{"replicas":1,"readyReplicas":2}}`, 422, `status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas`},
		{"POST " + apps + "replicasets", workload, 201, ""},
		{"PATCH:merge " + apps + "replicasets/x/status", `{"status":{"replicas":1,"availableReplicas":1}}`, 422, `status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas`},
		{"PATCH:merge " + apps + "replicasets/x/status", `{"status":{"replicas":1,"readyReplicas":1,"availableReplicas":1}}`, 200, ""},
		{"POST pods", `{"metadata":{"name":"p"},"spec":{"containers":[` + goodContainer + `]}}`, 201, ""},
		{"PATCH:merge pods/p/status", `{"status":{"podIP":"x"}}`, 422, `status.podIPs[0]: Invalid value: "x": must be a valid IP address`},
		{"PATCH:merge pods/p/status", `{"status":{"podIP":"1.2.3.4"}}`, 200, `"podIPs":[{"ip":"1.2.3.4"}]`},
		{"POST services", `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`, 201, ""},
		{"PATCH:merge services/s/status", `{"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`, 422, "may only be used when `spec.type` is 'LoadBalancer'"},
	})
}

// The volume claim templates of a stateful set become volumes of its pods.
func TestContainersMountTheClaimsOfAStatefulSet(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	const path = "POST /apis/apps/v1/namespaces/default/statefulsets"
	set := func(name, volume string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"` + volume + `","mountPath":"/d"}]}]}},"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}`
	}
	run(t, server, []request{
		{path, set("a", "data"), 201, ""},
		{path, set("b", "other"), 422, `spec.template.spec.containers[0].volumeMounts[0].name: Not found: "other"`},
	})
}

func TestTheTestItselfMayStoreWhatAClusterRefuses(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	bare := &corev1.Pod{}
	bare.Namespace, bare.Name = "default", "bare"
	require.NoError(t, server.Create(bare))
	run(t, server, []request{ // and clients may change what is not wrong with it
		{"PATCH:merge pods/bare", `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
		{"PATCH:merge pods/bare/status", `{"status":{"phase":"Running"}}`, 200, ""},
		{"PATCH:merge pods/bare", `{"spec":{"nodeName":"Bad_"}}`, 422, "spec.nodeName"},
	})
}

// Promise informer/informertest/1
func TestUpdatesKeepWhatIsImmutable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, object, patch, says string }{
		{"persistentvolumeclaims/x", `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`, `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`, "spec is immutable after creation except resources.requests"},
		{"persistentvolumeclaims/x", `{"spec":{"accessModes":["ReadWriteOnce"],"volumeName":"v","resources":{"requests":{"storage":"2Gi"}}},"status":{"phase":"Bound","capacity":{"storage":"2Gi"}}}`, `{"spec":{"resources":{"requests":{"storage":"1Gi"}}}}`, "field can not be less than status.capacity"},
		{"/api/v1/nodes/x", `{"spec":{"providerID":"a://1"}}`, `{"spec":{"providerID":"a://2"}}`, `node updates may not change providerID except from "" to valid`},
		{"/api/v1/nodes/x", `{"spec":{"podCIDR":"10.0.0.0/24","podCIDRs":["10.0.0.0/24"]}}`, `{"spec":{"podCIDR":"10.0.1.0/24","podCIDRs":["10.0.1.0/24"]}}`, `spec.podCIDRs: Forbidden`},
		{"/api/v1/persistentvolumes/x", `{"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`, `{"spec":{"volumeMode":"Block"}}`, `volumeMode: Invalid value: "Block": field is immutable`},
		{"services/x", `{"spec":{"type":"LoadBalancer","loadBalancerClass":"x.test/a","ports":[{"port":80}]}}`, `{"spec":{"loadBalancerClass":"x.test/b"}}`, `spec.loadBalancerClass: Invalid value: "x.test/b": may not change once set`},
		{"pods/x", `{"spec":{"containers":[` + goodContainer + `]}}`, `{"spec":{"terminationGracePeriodSeconds":5}}`, "pod updates may not change fields other than"},
		{"pods/x", `{"spec":{"containers":[` + goodContainer + `]}}`, `{"spec":{"containers":[` + goodContainer + `,{"name":"d","image":"i"}]}}`, "pod updates may not add or remove containers"},
		{"pods/x", `{"spec":{"activeDeadlineSeconds":5,"containers":[` + goodContainer + `]}}`, `{"spec":{"activeDeadlineSeconds":6}}`, "must be less than or equal to previous value"},
		{"/apis/storage.k8s.io/v1/csidrivers/x", `{"spec":{"attachRequired":true}}`, `{"spec":{"attachRequired":false}}`, `spec.attachedRequired: Invalid value: false: field is immutable`},
		{"/apis/storage.k8s.io/v1/volumeattributesclasses/x", `{"driverName":"d","parameters":{"a":"b"}}`, `{"parameters":{"a":"c"}}`, `updates to parameters are forbidden.`},
		{"/apis/storage.k8s.io/v1/csinodes/x", `{"spec":{"drivers":[{"name":"a","nodeID":"x","topologyKeys":["k"]}]}}`, `{"spec":{"drivers":[{"name":"a","nodeID":"y"}]}}`, `spec.drivers: Invalid value: {"Name":"a","NodeID":"y","TopologyKeys":null,"Allocatable":null}: field is immutable`},
		{"/apis/batch/v1/namespaces/default/jobs/x", `{"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[` + goodContainer + `]}}}}`, `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":1}}}}`, `field is immutable`},
		{"pods/x", `{"spec":{"schedulingGates":[{"name":"a"}],"nodeSelector":{"a":"b"},"containers":[` + goodContainer + `]}}`, `{"spec":{"schedulingGates":[{"name":"b"}],"nodeSelector":null}}`, `[spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b', spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)]`},
		{"/apis/networking.k8s.io/v1/servicecidrs/x", `{"spec":{"cidrs":["10.9.0.0/24"]}}`, `{"spec":{"cidrs":["10.9.1.0/24"]}}`, `spec.cidrs[0]: Invalid value: "10.9.1.0/24": field is immutable`},
	} {
		server := informertest.Start(t, informertest.Options{})
		collection, _, _ := strings.Cut(c.path, "/x")
		object := `{"metadata":{"name":"x"},` + c.object[1:]
		run(t, server, []request{{"POST " + collection, object, 201, ""}})
		if strings.Contains(c.object, `"status"`) {
			run(t, server, []request{{"PATCH:merge " + c.path + "/status", c.object, 200, ""}})
		}
		run(t, server, []request{{"PATCH:merge " + c.path, c.patch, 422, c.says}})
	}
	server := informertest.Start(t, informertest.Options{})
	const csr = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	run(t, server, []request{
		{"POST pods", `{"metadata":{"name":"p"},"spec":{"containers":[` + goodContainer + `]}}`, 201, ""},
		{"PATCH:strategic pods/p/ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`, 200, ""},
		{"PATCH:merge pods/p/ephemeralcontainers", `{"spec":{"ephemeralContainers":[]}}`, 422, `existing ephemeral containers "e" may not be removed`},
		{"POST " + csr, `{"metadata":{"name":"x"},"spec":{"request":"eA==","signerName":"x.test/a","usages":["client auth"]}}`, 201, ""},
		{"PATCH:merge " + csr + "/x", `{"spec":{"signerName":"x.test/b"}}`, 200, `"signerName":"x.test/a"`},
	})
}

func TestAServiceThatChangesItsTypeLosesWhatThatTypeHasNot(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	run(t, server, []request{
		{"POST services", `{"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","loadBalancerClass":"x.test/a","externalTrafficPolicy":"Local","ports":[{"port":80}]}}`, 201, `"healthCheckNodePort"`},
		{"PATCH:merge services/s", `{"spec":{"type":"ClusterIP"}}`, 200, ""},
	})
	for _, name := range []string{"nodePort", "healthCheckNodePort", "externalTrafficPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass"} {
		_, body, _ := ask(t, server, "GET services/s", "")
		spec := body["spec"].(map[string]any)
		require.NotContains(t, spec, name)
		require.NotContains(t, spec["ports"].([]any)[0], name)
		require.Contains(t, spec, "clusterIP")
	}
	run(t, server, []request{{"PATCH:merge services/s", `{"spec":{"type":"ExternalName","externalName":"x.test"}}`, 200, ""}})
	_, body, _ := ask(t, server, "GET services/s", "")
	require.NotContains(t, body["spec"], "clusterIP")
	require.NotContains(t, body["spec"], "clusterIPs")
}
