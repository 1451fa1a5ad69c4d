package sharding

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// GroupLabel is the label of all Leases of a group. Its value is [Options].Name.
const GroupLabel = "sharding.informerkit.dev/group"

const (
	// partsAnnotation is the number of parts of the group, on the record of each part.
	partsAnnotation = "sharding.informerkit.dev/parts"
	// leavingAnnotation is on the session of a replica that gives its parts up.
	leavingAnnotation = "sharding.informerkit.dev/leaving"
	// joiningAnnotation is on a session that its replica has not seen yet.
	joiningAnnotation = "sharding.informerkit.dev/joining"
)

var leaseResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// lease is a Lease as far as it is used here. The library does not depend on
// k8s.io/api, whose type has the same fields.
type lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              leaseSpec `json:"spec"`
}

type leaseSpec struct {
	HolderIdentity       *string           `json:"holderIdentity,omitempty"`
	LeaseDurationSeconds *int32            `json:"leaseDurationSeconds,omitempty"`
	AcquireTime          *metav1.MicroTime `json:"acquireTime,omitempty"`
	RenewTime            *metav1.MicroTime `json:"renewTime,omitempty"`
	LeaseTransitions     *int32            `json:"leaseTransitions,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (l *lease) DeepCopyObject() runtime.Object { return l.copy() }

// copy returns a copy that shares no memory that is written: a field of the Spec is replaced, and
// what it points to is never changed.
func (l *lease) copy() *lease {
	c := *l
	l.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// holder returns who has a part according to its record, or "".
func (l *lease) holder() string {
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return httpclient.Cut(*l.Spec.HolderIdentity) // it may be edited to anything, and is logged
}

// transitions returns how many times the part was taken.
func (l *lease) transitions() int32 {
	if l.Spec.LeaseTransitions == nil {
		return 0
	}
	return *l.Spec.LeaseTransitions
}

// leaving reports whether the replica of a session gives its parts up.
func (l *lease) leaving() bool { return l.Annotations[leavingAnnotation] != "" }

// counts reports whether the replica of a session is to have parts.
func (l *lease) counts() bool { return !l.leaving() && l.Annotations[joiningAnnotation] == "" }

// states reports whether the record of a part says that the group has so many parts.
func (l *lease) states(parts int) bool {
	return l != nil && l.Annotations[partsAnnotation] == strconv.Itoa(parts)
}

// stated returns the duration that the Lease states. More than maxLeaseDuration was
// never written by a replica, and is ignored.
func (l *lease) stated() time.Duration {
	if l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	d := time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	if d > maxLeaseDuration {
		return 0
	}
	return d
}

// names are those of the Leases of a group. The name says what a Lease is for, as
// labels and annotations can be edited by hand, and names cannot.
type names struct{ namespace, group string }

func (n names) part(i int) string        { return n.group + "-part-" + strconv.Itoa(i) }
func (n names) session(id string) string { return n.group + "-replica-" + id }

// parse returns the number of the part, or the ID of the session, that a Lease of this
// name is for. ok is false if it is neither.
func (n names) parse(name string) (part int, id string, ok bool) {
	if s, found := strings.CutPrefix(name, n.group+"-part-"); found {
		i, err := strconv.Atoi(s)
		return i, "", err == nil && i >= 0 && n.part(i) == name
	}
	id, found := strings.CutPrefix(name, n.group+"-replica-")
	return -1, id, found && id != ""
}

// newLease returns a Lease that has not been written.
func (n names) newLease(name string, annotations map[string]string) *lease {
	return &lease{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: n.namespace, Name: name,
			Labels: map[string]string{GroupLabel: n.group}, Annotations: maps.Clone(annotations),
		},
	}
}

// newPart returns the record of a part that nobody has.
func (n names) newPart(i, parts int) *lease {
	return n.newLease(n.part(i), map[string]string{partsAnnotation: strconv.Itoa(parts)})
}

// newSession returns the Lease of a new session.
func (n names) newSession(id string, duration time.Duration, now metav1.MicroTime) *lease {
	l := n.newLease(n.session(id), nil)
	l.Spec = leaseSpec{
		HolderIdentity: &id, LeaseDurationSeconds: new(int32(math.Ceil(duration.Seconds()))), AcquireTime: &now, RenewTime: &now,
	}
	return l
}

// newID returns an ID that no session has had. The same replica gets another one each
// time: so a session that has ended never comes back.
func newID(identity string, rnd *rand.Rand) string {
	return fmt.Sprintf("%s-%08x", identity, rnd.Uint32())
}
