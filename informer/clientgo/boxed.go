package clientgo

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
)

// boxed is what is stored in place of something that our cache cannot hold as it is,
// where client-go's holds anything: an object without a name, a value that is no API
// object, or a state that has the resourceVersion of the one before. Programs never see
// it: all that leaves the cache goes through [unbox].
type boxed struct {
	metav1.Object // the metadata of content, or of what it was made from
	content       any
	// unversioned is that another state may have this resourceVersion.
	unversioned bool
}

// nameless is the name of objects without one. No object of an API server has it.
const nameless = "\x00"

// GetName returns a name in any case, as the cache needs a key.
func (b *boxed) GetName() string {
	if name := b.Object.GetName(); name != "" {
		return name
	}
	return nameless
}

// Unversioned says that the resourceVersion does not identify the state.
func (b *boxed) Unversioned() bool { return b.unversioned }

// GetObjectKind implements [runtime.Object].
func (b *boxed) GetObjectKind() schema.ObjectKind {
	if obj, ok := b.content.(runtime.Object); ok {
		return obj.GetObjectKind()
	}
	return schema.EmptyObjectKind
}

// DeepCopyObject implements [runtime.Object].
func (b *boxed) DeepCopyObject() runtime.Object {
	c := *b
	if obj, ok := b.content.(runtime.Object); ok {
		c.content = obj.DeepCopyObject()
		if acc, err := meta.Accessor(c.content); err == nil {
			c.Object = acc
		}
	}
	return &c
}

// box returns content as an object: itself if possible. Acc is its metadata.
func box(content any, acc metav1.Object, unversioned bool) informer.Object {
	if obj, ok := content.(informer.Object); ok && !unversioned && obj.GetName() != "" {
		return obj
	}
	return &boxed{Object: acc, content: content, unversioned: unversioned}
}

// boxAny returns what a program stores as an object, or an error if it has no key.
func boxAny(content any) (informer.Object, error) {
	key, err := upstream.MetaNamespaceKeyFunc(content)
	if err != nil {
		return nil, upstream.KeyError{Obj: content, Err: err}
	}
	if acc, err := meta.Accessor(content); err == nil {
		return box(content, acc, false), nil
	}
	parsed := parseKey(key) // a cache.ExplicitKey
	return box(content, &metav1.ObjectMeta{Namespace: parsed.Namespace, Name: parsed.Name}, false), nil
}

// unbox returns what a program sees of a stored object.
func unbox[T indexer.Object](obj T) any {
	if b, ok := any(obj).(*boxed); ok {
		return b.content
	}
	return obj
}

// keyOfMeta returns the key of an object.
func keyOfMeta(acc metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: acc.GetNamespace(), Name: acc.GetName()}
}

// keyOf returns the key of a stored object in client-go's form.
func keyOf[T indexer.Object](obj T) string {
	return formatKey(keyOfMeta(obj))
}

// formatKey returns a key in client-go's form.
func formatKey(key types.NamespacedName) string {
	return strings.TrimSuffix(indexer.FormatKey(key), nameless)
}

// parseKey is the reverse of formatKey. It returns an empty key for what is none.
func parseKey(key string) types.NamespacedName {
	if key == "" || strings.HasSuffix(key, "/") {
		key += nameless
	}
	parsed, _ := indexer.ParseKey(key) // no object has the empty key
	return parsed
}
