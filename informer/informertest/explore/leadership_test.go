package explore

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/leader"
)

// A replica that goes on after it has lost its Lease is found although all that it does is harmless: both replicas
// write the same, and no other rule is broken.
//
// Promise explore/8
func TestWorkAfterLeadershipIsFound(t *testing.T) {
	careless := func(program, _ context.Context) context.Context { return program }
	result := Search(t, Options{Replicas: 2, First: []string{"partition@w3"}}, copying(careless))
	require.NotNil(t, result.Finding)
	t.Log(result.Finding)
	assert.Equal(t, ruleLeadership, result.Finding.Rule)
	assert.Contains(t, result.Finding.Reason, "had taken over lease default/copies")

	result = Search(t, Options{Replicas: 2, First: []string{result.Finding.Schedule}, Schedules: 8, Without: []string{ruleLeadership}}, copying(careless))
	assert.Nil(t, result.Finding, "no other rule finds it")
}

// Work that ends with the term survives.
//
// Promise explore/1
func TestWorkThatEndsWithTheTermSurvives(t *testing.T) {
	careful := func(_, term context.Context) context.Context { return term }
	result := Search(t, Options{Replicas: 2, First: []string{"partition@w3"}, Schedules: 12}, copying(careful))
	assert.Nil(t, result.Finding)
}

// copying is a controller that notes the number of a config map in an annotation. choose returns the context of
// its work, of that of the program and that of the term.
func copying(choose func(program, term context.Context) context.Context) Subject {
	return Subject{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			sets, _ := clients(cfg)
			copyNumber := every(func(ctx context.Context, _ *rest.Config) error {
				_, err := sets.Modify(ctx, theSet, func(cm *corev1.ConfigMap) error {
					metav1.SetMetaDataAnnotation(&cm.ObjectMeta, "copied", cm.Data["n"])
					return nil
				})
				if client.IgnoreNotFound(err) != nil {
					slog.New(slog.DiscardHandler).Warn("will try again", "error", err)
				}
				return nil
			})
			elector, err := leader.New(cfg, leader.Options{
				Name: "copies", Namespace: "default", Identity: Replica(ctx), Logger: slog.New(slog.DiscardHandler),
				Lead: func(term context.Context, _ *leader.Term) error { return copyNumber(choose(ctx, term), cfg) },
			})
			if err != nil {
				return err
			}
			return elector.Run(ctx)
		},
		Act: func(w *World) {
			createSet(w)
			for n := range 6 {
				w.Change(configMaps, "default", "set", setN(n+2))
				w.Sleep(10 * time.Second)
			}
		},
	}
}
