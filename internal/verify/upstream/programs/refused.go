package main

import "strings"

// refused are the tests of Kubernetes' controllers that write to the store of an informer that runs. These
// informers refuse that: what a cache has and its server does not, is gone with the next list.
var refused = func() map[string]string {
	all := map[string]string{}
	for pkg, tests := range map[string]string{
		"disruption": `
			TestBasicFinderFunctions
			TestBasicFinderFunctions/replicaset_controller_with_apps_group
			TestBasicFinderFunctions/replicaset_controller_with_invalid_group
			TestBasicFinderFunctions/replicationcontroller_with_empty_group
			TestBasicFinderFunctions/replicationcontroller_with_invalid_group
			TestBasicFinderFunctions/statefulset_controller_with_extensions_group
			TestBasicFinderFunctions/statefulset_controller_with_invalid_kind
			TestDeploymentFinderFunction
			TestDeploymentFinderFunction/happy_path
			TestDeploymentFinderFunction/invalid_deployment_apiVersion
			TestDeploymentFinderFunction/invalid_deployment_kind
			TestDeploymentFinderFunction/invalid_rs_apiVersion
			TestDeploymentFinderFunction/invalid_rs_kind
			TestIntegerMaxUnavailable
			TestIntegerMaxUnavailableWithScaling
			TestInvalidSelectors
			TestInvalidSelectors/illegal_operator
			TestInvalidSelectors/illegal_value_key
			TestKeepExistingPDBConditionDuringSync
			TestMultipleControllers
			TestNakedPod
			TestNoSelector
			TestPDBNotExist
			TestPercentageMaxUnavailableWithScaling
			TestReplicaSet
			TestReplicationController
			TestScaleResource
			TestStalePodDisruption
			TestStalePodDisruption/no_pod_disruption
			TestStalePodDisruption/pod_disruption_actuated
			TestStalePodDisruption/pod_disruption_cleared
			TestStalePodDisruption/pod_disruption_in_progress
			TestStalePodDisruption/stale_pod_disruption
			TestStatefulSetController
			TestStatusForUnmanagedPod
			TestTotalUnmanagedPods
			TestTwoControllers
			TestUnavailable
			TestUnsupportedControllerPod
			TestUpdateDisruptedPods
		`,
		"job": `
			TestSyncJobPodSchedulingGroup
			TestSyncJobPodSchedulingGroup/feature_gate_disabled:_gang-eligible_job_creates_pods_without_scheduling_objects
			TestSyncJobPodSchedulingGroup/gang-eligible_job_with_PodGroup:_pods_get_schedulingGroup_and_ownerRef
			TestSyncJobPodSchedulingGroup/job_with_pre-existing_schedulingGroup:_preserved_without_PodGroup_ownerRef
			TestSyncJobPodSchedulingGroup/non-eligible_job:_no_schedulingGroup_on_pods
			TestSyncJobPodSchedulingGroup/suspended_gang-eligible_job:_discovers_scheduling_objects_but_creates_no_pods
		`,
		"statefulset": `
			TestStatefulSetControl_getSetRevisions
			TestStatefulSetControl_getSetRevisions/#00
			TestStatefulSetControl_getSetRevisions/Delete
			TestStatefulSetControl_getSetRevisions/Retain
			TestStatefulSetControl_getSetRevisions/ScaleDownOnly
			TestStatefulSetControl_getSetRevisions/SetDeleteOnly
			TestStatefulSetControl_getSetRevisions/nullPolicy
		`,
	} {
		for _, test := range strings.Fields(tests) {
			all["k8s.io/kubernetes/pkg/controller/"+pkg+" "+test] = "it writes to the store of an informer that runs, which is refused"
		}
	}
	return all
}()
