package build

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Label marks the ConfigMaps that are to have a backup: another one with the same data,
// which they own.
const Label = "examples.informerkit.dev/backup"

// Original returns the key to work on for an object: that of its owner, or its own.
func Original(obj *Object) Key {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		return Key{Namespace: obj.Namespace, Name: owner.Name}
	}
	return KeyOf(obj)
}

// Backup creates the backup of an object, under a name that the server makes up.
func (c *Client) Backup(ctx context.Context, obj *Object) (*Object, error) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	backup := &Object{Data: obj.Data}
	backup.APIVersion, backup.Kind = kind.ToAPIVersionAndKind()
	backup.Namespace, backup.GenerateName = obj.Namespace, obj.Name+"-"
	backup.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(obj, kind)}
	return backup, c.write(ctx, http.MethodPost, c.url, backup)
}
