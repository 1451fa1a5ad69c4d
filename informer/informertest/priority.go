package informertest

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// systemPriorities are the values of the classes that every cluster has.
var systemPriorities = map[string]int64{
	"system-cluster-critical": 2_000_000_000,
	"system-node-critical":    2_000_001_000,
}

// prioritizeLocked gives a new pod the priority of its class, that of the class
// that is declared the default, or 0.
func (s *store) prioritizeLocked(res Resource, pod *unstructured.Unstructured, opts writeOptions) error {
	spec, ok := pod.Object["spec"].(map[string]any)
	if !ok || res.Group != "" || res.Kind != "Pod" {
		return nil
	}
	name, _ := spec["priorityClassName"].(string)
	class, found, err := s.priorityClassLocked(name)
	if err != nil {
		return err
	}
	if !found && name != "" && !opts.trusted {
		return apierrors.NewForbidden(res.groupResource(), pod.GetName(), fmt.Errorf("no PriorityClass with name %v was found", name))
	}
	if found && name == "" {
		spec["priorityClassName"] = class.name
	}
	if have := spec["priority"]; have != nil && have != class.value && !opts.trusted {
		return apierrors.NewForbidden(res.groupResource(), pod.GetName(), fmt.Errorf("the integer value of priority (%v) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", have, class.value))
	}
	if spec["priority"] == nil {
		spec["priority"] = class.value
	}
	if spec["preemptionPolicy"] == nil {
		spec["preemptionPolicy"] = class.policy
	}
	return nil
}

// priorityClass is what a pod takes over from its class.
type priorityClass struct {
	name   string
	value  int64
	policy string
}

// priorityClassLocked finds the class of a name, or for "" the default class
// with the least value.
func (s *store) priorityClassLocked(name string) (class priorityClass, found bool, err error) {
	class = priorityClass{name: name, policy: "PreemptLowerPriority"}
	if value, ok := systemPriorities[name]; ok {
		class.value = value
		return class, true, nil
	}
	classes, ok := s.collections[schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}]
	if !ok {
		return class, false, nil
	}
	for _, v := range classes.items {
		if name != "" && v.name != name {
			continue
		}
		obj, err := v.object(classes.res, classes.res.Versions[0])
		if err != nil {
			return class, false, err
		}
		value, _ := obj.Object["value"].(int64)
		if name == "" && (obj.Object["globalDefault"] != true || found && value >= class.value) {
			continue
		}
		class.name, class.value, found = v.name, value, true
		if policy, ok := obj.Object["preemptionPolicy"].(string); ok {
			class.policy = policy
		}
	}
	return class, found, nil
}
