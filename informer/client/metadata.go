package client

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// AddFinalizer adds a finalizer, and reports whether it was missing. As long as an object has
// one, a deletion only marks it, so that what belongs to it can be cleaned up.
func AddFinalizer(obj metav1.Object, name string) bool {
	all := obj.GetFinalizers()
	if slices.Contains(all, name) {
		return false
	}
	obj.SetFinalizers(append(slices.Clip(all), name))
	return true
}

// RemoveFinalizer removes a finalizer, and reports whether it was there.
func RemoveFinalizer(obj metav1.Object, name string) bool {
	all := obj.GetFinalizers()
	left := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return f == name })
	obj.SetFinalizers(left)
	return len(left) < len(all)
}

// SetController makes owner, of the given kind, the controller of obj: obj is then deleted with it,
// and informer.EnqueueOwner finds it. It fails if owner is in another namespace, because the garbage collector
// would then delete obj; if another object controls obj; and if obj exists already without a controller: it may
// belong to another user, and would be deleted with owner. To adopt it on purpose, set the owner reference by hand.
func SetController(obj, owner metav1.Object, kind schema.GroupVersionKind) error {
	if ns := owner.GetNamespace(); ns != "" && ns != obj.GetNamespace() {
		return fmt.Errorf("client: %s %s cannot own %s: an owner is in the same namespace, or in none", kind.Kind, name(owner), name(obj))
	}
	if owner.GetUID() == "" {
		return fmt.Errorf("client: %s %s has no UID; pass the object that the server or the cache returned", kind.Kind, name(owner))
	}
	ref := *metav1.NewControllerRef(owner, kind)
	all := slices.Clone(obj.GetOwnerReferences())
	at := -1
	for i, other := range all {
		if other.UID == ref.UID {
			at = i
		} else if other.Controller != nil && *other.Controller {
			return fmt.Errorf("client: %s is controlled by %s %s (UID %s) already, and cannot be by %s %s (UID %s)", name(obj), other.Kind, other.Name, other.UID, kind.Kind, owner.GetName(), owner.GetUID())
		}
	}
	if at < 0 && obj.GetUID() != "" {
		return fmt.Errorf("client: %s exists already, and %s %s does not control it; delete it or give it another name, or set the owner reference by hand to take it over", name(obj), kind.Kind, owner.GetName())
	}
	if at >= 0 {
		all[at] = ref
	} else {
		all = append(all, ref)
	}
	obj.SetOwnerReferences(all)
	return nil
}

// name is the key of an object for people: without a slash if it is in no namespace.
func name(obj metav1.Object) string { return strings.TrimPrefix(KeyOf(obj).String(), "/") }

// KeyOf returns the namespace and the name of an object.
func KeyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// IgnoreAlreadyExists returns nil if err says that there is an object of this name, and else err.
// It is for names that say which object is meant, so an object of that name is the one that was meant.
func IgnoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
