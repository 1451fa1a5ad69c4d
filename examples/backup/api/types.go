// Package api has the kind CronBackup: a backup that is made again and again. Its definition is
// deploy/crd.yaml, made from these types:
//
//	go run sigs.k8s.io/controller-tools/cmd/controller-gen@latest crd paths=./api output:stdout
//
// +groupName=examples.informerkit.dev
package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names under which an API server serves the kind.
var (
	GroupVersion = schema.GroupVersion{Group: "examples.informerkit.dev", Version: "v1"}
	Resource     = GroupVersion.WithResource("cronbackups")
)

// CronBackup asks for backups of a volume.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type CronBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CronBackupSpec   `json:"spec"`
	Status CronBackupStatus `json:"status,omitempty"`
}

// CronBackupSpec is what the user wants.
type CronBackupSpec struct {
	// Every is the time between two backups, such as 1h30m.
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]*h([0-9]+m)?|[1-9][0-9]*m)(0s)?$`
	Every metav1.Duration `json:"every"`
	// Keep is how many Jobs of finished backups are kept.
	// +kubebuilder:validation:Minimum=1
	Keep int `json:"keep"`
	// Image makes a backup, or removes all of them if it is called with --remove.
	Image string `json:"image"`
}

// CronBackupStatus is what the controller has found.
type CronBackupStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastSuccess is when the newest backup that succeeded was begun.
	LastSuccess *metav1.Time       `json:"lastSuccess,omitempty"`
	Conditions  []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopy returns a copy that shares nothing with b. controller-gen writes this method, too.
func (b *CronBackup) DeepCopy() *CronBackup {
	if b == nil {
		return nil
	}
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.LastSuccess = b.Status.LastSuccess.DeepCopy()
	out.Status.Conditions = nil
	for i := range b.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *b.Status.Conditions[i].DeepCopy())
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (b *CronBackup) DeepCopyObject() runtime.Object { return b.DeepCopy() }
