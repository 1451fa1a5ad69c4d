package leader

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/httpclient"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// lease is a Lease with client-go's leader election record. The library does not depend on
// k8s.io/api, whose type has the same fields.
type lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		HolderIdentity       string            `json:"holderIdentity"` // "" after a release
		LeaseDurationSeconds int32             `json:"leaseDurationSeconds"`
		AcquireTime          *metav1.MicroTime `json:"acquireTime,omitempty"`
		RenewTime            *metav1.MicroTime `json:"renewTime,omitempty"`
		LeaseTransitions     int32             `json:"leaseTransitions"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object.
func (l *lease) DeepCopyObject() runtime.Object {
	c := *l
	l.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// holder returns the holder, "" if there is none.
func (l *lease) holder() string {
	if l == nil {
		return ""
	}
	return httpclient.Cut(l.Spec.HolderIdentity) // it may be edited to anything, and is logged
}

func (l *lease) duration() time.Duration {
	return time.Duration(l.Spec.LeaseDurationSeconds) * time.Second
}

// record returns the Lease as holder writes it; read is what it replaces, nil if there is none.
func (o *Options) record(read *lease, holder string, now time.Time) *lease {
	l := &lease{}
	l.Namespace, l.Name = o.Namespace, o.Name
	stamp := metav1.NewMicroTime(now.UTC())
	if read != nil {
		// With UID and version: the server accepts the write of one replica only.
		l.ObjectMeta, l.Spec = read.ObjectMeta, read.Spec
	}
	if read == nil || holder != read.Spec.HolderIdentity {
		l.Spec.AcquireTime = &stamp
		if read != nil && holder != "" && read.Spec.LeaseTransitions < math.MaxInt32 {
			l.Spec.LeaseTransitions++
		}
	}
	l.Spec.HolderIdentity, l.Spec.RenewTime = holder, &stamp
	l.Spec.LeaseDurationSeconds = int32(math.Ceil(o.LeaseDuration.Seconds()))
	if holder == "" {
		l.Spec.LeaseDurationSeconds = 1 // as client-go writes it: the server refuses 0
	}
	return l
}
