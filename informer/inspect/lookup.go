package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// objectReport is what the cache of an informer has of one object.
type objectReport struct {
	Informer string `json:"informer"`
	Found    bool   `json:"found"`
	// All that follows is empty if it was not found.
	UID             string    `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Generation      int64     `json:"generation,omitempty"`
	Created         time.Time `json:"created,omitzero"`
	// Deleting is when its deletion was asked for: finalizers hold it back.
	Deleting   time.Time `json:"deleting,omitzero"`
	Finalizers []string  `json:"finalizers,omitempty"`
	// Owners are "Kind/name". Of labels and annotations, only the names are shown.
	Owners      []string `json:"owners,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	// Body is the object as JSON, with Options.ShowObjects.
	Body json.RawMessage `json:"body,omitempty"`
	// BodyError is why there is no body although it was asked for.
	BodyError string `json:"bodyError,omitempty"`
}

// maxNames is how many labels, annotations, owners and finalizers are named.
const maxNames = 50

// reportObject describes what the cache has. Labels and annotations are named without
// their values, which may be anything.
func reportObject(inf string, obj informer.Object, opts *Options) objectReport {
	r := objectReport{
		Informer: inf, Found: true, UID: string(obj.GetUID()), ResourceVersion: obj.GetResourceVersion(),
		Generation: obj.GetGeneration(), Created: obj.GetCreationTimestamp().UTC(),
		Labels: names(obj.GetLabels()), Annotations: names(obj.GetAnnotations()),
		Finalizers: limited(slices.Clone(obj.GetFinalizers())),
	}
	if at := obj.GetDeletionTimestamp(); at != nil {
		r.Deleting = at.UTC()
	}
	for _, o := range obj.GetOwnerReferences() {
		r.Owners = append(r.Owners, o.Kind+"/"+o.Name)
	}
	r.Owners = limited(r.Owners)
	if opts.ShowObjects {
		var err error
		if r.Body, err = body(obj); err != nil {
			r.BodyError = err.Error()
		}
	}
	return r
}

// names returns the sorted keys of a map.
func names(m map[string]string) []string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return limited(all)
}

// limited cuts a list of names off, and each of its names.
func limited(all []string) []string {
	for i := range all {
		all[i] = shorten(all[i], maxItem)
	}
	if more := len(all) - maxNames; more > 0 {
		all = append(all[:maxNames:maxNames], fmt.Sprintf("… and %d more", more))
	}
	return all
}

// maxBody is how much of an object is shown, in bytes of JSON.
const maxBody = 64 << 10

// body returns an object as JSON, without what is noise and without what is secret: the
// data of a Secret, and the annotation of kubectl, which repeats the whole object.
func body(obj informer.Object) (json.RawMessage, error) {
	encoded, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("the object cannot be shown: it is no JSON")
	}
	var all map[string]any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber() // an int64 is not to be rounded
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("the object cannot be shown: it is no JSON object")
	}
	if metadata, ok := all["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
	if isSecret(obj, all) {
		for _, field := range []string{"data", "stringData"} {
			if data, ok := all[field].(map[string]any); ok {
				for name := range data {
					data[name] = "not shown: the data of a Secret"
				}
			} else {
				delete(all, field)
			}
		}
	}
	encoded, err = json.Marshal(all)
	if err == nil && len(encoded) > maxBody {
		return nil, fmt.Errorf("the object is not shown: it has %s, and the most that is shown is %s", size(len(encoded)), size(maxBody))
	}
	return encoded, err
}

// isSecret reports whether an object is a Secret: by its kind, or by its Go type, as
// what a typed client stores may have no kind.
func isSecret(obj informer.Object, fields map[string]any) bool {
	kind, _ := fields["kind"].(string)
	return kind == "Secret" || goName(obj) == "Secret"
}

// itemState is where one item is in a queue.
type itemState struct {
	Queue string `json:"queue"`
	// Lookup is whether items of this queue can be looked up by a text. If not, nothing
	// else is known.
	Lookup       bool `json:"lookup"`
	ShuttingDown bool `json:"shuttingDown"`
	Found        bool `json:"found"`
	Queued       bool `json:"queued"`
	Running      bool `json:"running"`
	Again        bool `json:"again"`
	// The times are zero if the item is not in that state, or the queue keeps no times.
	QueuedSince   time.Time `json:"queuedSince,omitzero"`
	RunningSince  time.Time `json:"runningSince,omitzero"`
	DelayedUntil  time.Time `json:"delayedUntil,omitzero"`
	ParkedUntil   time.Time `json:"parkedUntil,omitzero"`
	Until         string    `json:"until,omitempty"`
	PriorityClass int       `json:"priorityClass"`
	// ClassQueued is how many items of the class are queued, itself included.
	ClassQueued int    `json:"classQueued"`
	Group       string `json:"group,omitempty"`
	Retries     int    `json:"retries"`
	// Failure is the last one, unless the item has succeeded since.
	Failure *failureReport `json:"failure,omitempty"`
}

// lookUpItem returns where the item with that text is in a queue.
func lookUpItem[T comparable](inspect func(limit int, only ...T) workqueue.Inspection[T], text string, opts *Options) itemState {
	item, ok := history.ItemOf[T](text)
	in := inspect(0, item)
	if !ok {
		return itemState{Queue: in.Name} // of the zero item, only the name is of use
	}
	s := itemState{
		Queue: in.Name, Lookup: true, ShuttingDown: in.ShuttingDown,
		Queued: len(in.Queued) > 0, Running: len(in.Running) > 0,
	}
	// The same item is in the list of each state that it is in.
	if all := slices.Concat(in.Queued, in.Running, in.Delayed, in.Parked); len(all) > 0 {
		one := all[0]
		s.Found, s.Again, s.Retries, s.Group = true, one.Again, one.Retries, shorten(one.Group, maxItem)
		s.QueuedSince, s.RunningSince = one.QueuedSince.UTC(), one.RunningSince.UTC()
		s.DelayedUntil, s.ParkedUntil, s.Until = one.DelayedUntil.UTC(), one.ParkedUntil.UTC(), describeCondition(one.Until)
		s.PriorityClass, s.ClassQueued = one.PriorityClass, in.PriorityClasses[one.PriorityClass].Queued
	}
	if opts.History != nil {
		if f, ok := opts.History.Failure(in.Name, text); ok {
			report := reportFailure(&f, opts)
			s.Failure = &report
		}
	}
	return s
}

// objectKey is the key of an object with that text.
func objectKey(text string) types.NamespacedName {
	return types.NamespacedName(history.ParseKey(text))
}
