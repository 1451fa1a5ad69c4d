package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
)

// component is who the Events are from.
const component = "informerkit-leaderelection"

// eventTimeout is how long writing an Event may take.
const eventTimeout = 5 * time.Second

// eventWriter writes Events about who leads: `kubectl describe lease informerkit-example-part-0`
// shows them. There are few, and package sharding waits for none of them, so each is one request, and
// that of a hand-over is written before the process ends. The recorder of client-go's tools/events would do
// as well: it returns at once, counts an Event that repeats, and may lose the last one.
type eventWriter struct {
	client   *client.Client[*eventsv1.Event]
	identity string
	log      *slog.Logger
}

func newEventWriter(cfg *rest.Config, identity string, log *slog.Logger) (*eventWriter, error) {
	events, err := client.New[*eventsv1.Event](cfg, eventsv1.SchemeGroupVersion.WithResource("events"), client.Options{})
	return &eventWriter{events, identity, log}, err
}

// Eventf implements sharding.EventRecorder.
func (w *eventWriter) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	about, err := meta.Accessor(regarding)
	if err != nil {
		w.log.Warn("an Event is about something that is no object", "reason", reason, "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	apiVersion, k := regarding.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	_, err = w.client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: about.GetNamespace(), GenerateName: about.GetName() + "-"},
		EventTime:  metav1.NowMicro(), ReportingController: component, ReportingInstance: w.identity,
		Type: kind, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...),
		Regarding: corev1.ObjectReference{
			APIVersion: apiVersion, Kind: k, Namespace: about.GetNamespace(), Name: about.GetName(), UID: about.GetUID(),
		},
	})
	if err != nil {
		w.log.Warn("cannot write an Event", "reason", reason, "error", err)
	}
}
