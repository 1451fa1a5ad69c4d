package client

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
	"github.com/informerkit/informerkit/internal/object"
)

const (
	// eventsKept is how many Events are remembered, to count their repetitions.
	eventsKept = 1000
	// countEvery is how often the count of an Event that repeats is written, at most.
	countEvery = time.Minute
	// seriesEnds is after how long without a repetition another Event is written: later than the longest
	// pause between two attempts, which is 1,000 s by default. The server forgets Events after an hour.
	seriesEnds = 30 * time.Minute
	// textLimit is how many bytes the API allows for the reason and the reportingInstance of an Event.
	textLimit = 128
)

// Events writes Events: what `kubectl describe` shows below an object, for people. An
// Event that repeats is counted, in the series of the first one, and the count is written once a minute at
// most: a reconcile that keeps failing makes one Event per series and one request a minute. A series ends
// after half an hour without a repetition. All methods may be called concurrently.
type Events struct {
	client    *Client[*unstructured.Unstructured]
	component string
	instance  string

	mu    sync.Mutex // held during no request
	known map[eventKey]*list.Element
	order *list.List // of *occurrence, the one that happened last in front
}

// eventKey is what repetitions have in common.
type eventKey struct {
	uid               types.UID
	typ, reason, note string
}

// occurrence is an Event that was written, or is about to be.
type occurrence struct {
	key     eventKey
	event   types.NamespacedName // empty until it is written
	count   int
	last    time.Time // when it happened
	written time.Time
}

// NewEvents returns a writer of Events of a component, such as the name of a controller. The component is a
// qualified name of the API, such as "backups" or "example.com/backups".
func NewEvents(cfg *rest.Config, component string) (*Events, error) {
	if component == "" {
		return nil, errors.New("client: NewEvents: the component is empty; pass the name of the controller")
	}
	if wrong := validation.IsQualifiedName(component); len(wrong) > 0 {
		return nil, fmt.Errorf("client: NewEvents: the component is %q; the API server accepts Events of a qualified name only: %s", httpclient.Cut(component), wrong[0])
	}
	c, err := New[*unstructured.Unstructured](cfg, schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}, Options{})
	if err != nil {
		return nil, err
	}
	instance := component
	if host, err := os.Hostname(); err == nil {
		instance += "-" + host
	}
	instance = strings.ToValidUTF8(instance[max(0, len(instance)-textLimit):], "") // the end tells the replicas apart
	return &Events{client: c, component: component, instance: instance, known: map[eventKey]*list.Element{}, order: list.New()}, nil
}

// Record writes an Event about an object with a kind, as those of a cache and of a [Client] have. typ
// is "Normal" or "Warning"; reason is one word in CamelCase, such as "ImageMissing"; note is a
// sentence, of which 1,024 bytes are kept. It makes one request, or none for a repetition.
func (e *Events) Record(ctx context.Context, about Object, typ, reason, note string) error {
	if object.IsNilPointer(about) {
		return errors.New("client: Record: the object is nil")
	}
	if typ != "Normal" && typ != "Warning" {
		return fmt.Errorf("client: Record: the type is %q; use \"Normal\" or \"Warning\"", typ)
	}
	typed, ok := about.(interface {
		GetObjectKind() schema.ObjectKind
	})
	if !ok || typed.GetObjectKind().GroupVersionKind().Kind == "" {
		return fmt.Errorf("client: Record: the object %s has no kind; pass one of a cache, or that a Client returned", KeyOf(about))
	}
	if reason == "" || len(reason) > textLimit || !utf8.ValidString(reason) {
		return fmt.Errorf("client: Record: the reason is %q; use one word in CamelCase, of up to %d bytes", httpclient.Cut(reason), textLimit)
	}
	// JSON writes three bytes for each byte that is invalid, so those are replaced before the note is cut.
	note = httpclient.Cut(strings.ToValidUTF8(note, "\uFFFD"))
	key := eventKey{about.GetUID(), typ, reason, note}
	now := time.Now()
	due := e.next(key, now)
	switch {
	case due.first:
		written, err := e.client.Create(ctx, e.event(about, typed.GetObjectKind().GroupVersionKind(), key, now))
		e.wrote(key, now, written, err)
		return err
	case due.count == 0:
		return nil
	}
	patch, err := marshalJSON(map[string]any{"series": map[string]any{"count": min(due.count, math.MaxInt32), "lastObservedTime": metav1.NewMicroTime(now)}})
	if err != nil {
		return err
	}
	_, err = e.client.Patch(ctx, due.event, types.MergePatchType, patch)
	if err != nil && IgnoreNotFound(err) == nil { // the server has forgotten it: the next one is a new Event
		e.wrote(key, now, nil, err)
	}
	return err
}

// due is what is to be written: a new Event, or the count of one; nothing if that is 0.
type due struct {
	first bool
	event types.NamespacedName
	count int
}

// next counts an Event.
func (e *Events) next(key eventKey, now time.Time) due {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.known[key]
	if known != nil && now.Sub(known.Value.(*occurrence).last) > seriesEnds {
		e.forget(known)
		known = nil
	}
	if known == nil {
		e.known[key] = e.order.PushFront(&occurrence{key: key, count: 1, last: now, written: now})
		if e.order.Len() > eventsKept {
			e.forget(e.order.Back())
		}
		return due{first: true}
	}
	e.order.MoveToFront(known)
	o := known.Value.(*occurrence)
	o.count++
	o.last = now
	if o.event.Name == "" || now.Sub(o.written) < countEvery { // it is being written, or was a moment ago
		return due{}
	}
	o.written = now
	return due{event: o.event, count: o.count}
}

// wrote notes that an Event was written, or not: then the next one is a new Event.
func (e *Events) wrote(key eventKey, at time.Time, written *unstructured.Unstructured, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.known[key]
	switch {
	case known == nil:
	case err != nil:
		e.forget(known)
	default:
		o := known.Value.(*occurrence)
		o.event, o.written = KeyOf(written), at
	}
}

// forget takes an Event off. Mu is held.
func (e *Events) forget(known *list.Element) {
	delete(e.known, known.Value.(*occurrence).key)
	e.order.Remove(known)
}

// event returns the object that is written. It is in the namespace of what it is about, or in
// "default" if that is in none: the rule of the API.
func (e *Events) event(about Object, kind schema.GroupVersionKind, key eventKey, now time.Time) *unstructured.Unstructured {
	apiVersion, k := kind.ToAPIVersionAndKind()
	regarding := map[string]any{"apiVersion": apiVersion, "kind": k, "name": about.GetName()}
	for field, value := range map[string]string{
		"namespace": about.GetNamespace(), "uid": string(about.GetUID()), "resourceVersion": about.GetResourceVersion(),
	} {
		if value != "" {
			regarding[field] = value
		}
	}
	namespace := about.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event",
		"metadata":            map[string]any{"namespace": namespace, "generateName": namePrefix(about.GetName())},
		"eventTime":           now.UTC().Format(metav1.RFC3339Micro),
		"reportingController": e.component, "reportingInstance": e.instance,
		"type": key.typ, "reason": key.reason, "note": key.note, "action": "Reconcile", "regarding": regarding,
	}}
}

// namePrefix returns how the name of an Event starts that is about an object called name. An Event's name is a DNS
// subdomain; the name of a ClusterRole, for example, need not be one: "system:node". The server cuts the
// prefix after it has checked its length, so a name of 253 characters is cut here.
func namePrefix(name string) string {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		name = strings.Trim(strings.Map(func(r rune) rune {
			if r = unicode.ToLower(r); r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, name), "-")
	}
	const kept = 57 // with the hyphen, as much as the server keeps
	return cmp.Or(strings.TrimRight(name[:min(len(name), kept)], "-."), "event") + "-"
}
