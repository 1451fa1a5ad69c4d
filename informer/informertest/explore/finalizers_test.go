package explore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/workqueue"
)

const cleanUp = "example.com/clean-up"

// startHeld keeps a secret for each config map, with a finalizer instead of an owner reference.
func startHeld(ctx context.Context, cfg *rest.Config) error {
	c := controller.New(controller.Options{Config: cfg, Name: "held", Logger: slog.New(slog.DiscardHandler)})
	sets := controller.For[*corev1.ConfigMap](c, configMaps)
	copies := controller.Reads[*corev1.Secret](c, secrets)
	return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (done workqueue.Result, err error) {
		cm, err := sets.Get(key)
		if err != nil {
			return done, client.IgnoreNotFound(err)
		}
		cm = cm.DeepCopy()
		if cm.DeletionTimestamp != nil {
			if err := copies.Delete(ctx, key, metav1.DeleteOptions{}); client.IgnoreNotFound(err) != nil {
				return done, err
			}
			if client.RemoveFinalizer(cm, cleanUp) {
				_, err = sets.Update(ctx, cm)
			}
			return done, client.IgnoreNotFound(err)
		}
		if client.AddFinalizer(cm, cleanUp) {
			if _, err := sets.Update(ctx, cm); err != nil {
				return done, client.IgnoreNotFound(err)
			}
		}
		_, err = copies.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return done, err
		}
		_, err = sets.Modify(ctx, key, func(cm *corev1.ConfigMap) error {
			metav1.SetMetaDataAnnotation(&cm.ObjectMeta, "example.com/copied", "yes")
			return nil
		})
		return done, client.IgnoreNotFound(err)
	})
}

func bothExist(v View) error {
	sets, copies := len(v.List(configMaps, "default")), len(v.List(secrets, "default"))
	if sets != 1 || copies != 1 {
		return errors.New("want one config map and one secret")
	}
	return nil
}

// Promise explore/5
func TestAnObjectWithAFinalizerIsCreatedAgainWhenItIsGone(t *testing.T) {
	r := played(t, Options{}, Subject{Start: startHeld, Eventually: bothExist, Act: func(w *World) {
		w.Create(configMap("set", 1))
		w.Sleep(time.Minute)
	}}, "replace@w3")
	assert.Nil(t, r.broken)
	text := strings.Join(lines(r.events), "\n")
	for _, want := range []string{"users delete configmaps default/set, which is marked until it may go", "users create configmaps default/set again"} {
		assert.Equal(t, 1, strings.Count(text, want), "%s in\n%s", want, text)
	}
	assert.NotContains(t, text, "and create it again")
}

// Promise explore/5
func TestAnObjectThatUsersDeleteIsNotCreatedAgain(t *testing.T) {
	for name, act := range map[string]func(w *World){
		"deleted": func(w *World) { w.Delete(configMaps, "default", "set") },
		"changed": func(w *World) { w.Change(configMaps, "default", "set", setN(7)) },
	} {
		t.Run(name, func(t *testing.T) {
			var left []string
			r := played(t, Options{}, Subject{Start: startHeld, Eventually: func(v View) error {
				left = nil
				for _, cm := range List[corev1.ConfigMap](v, configMaps, "default") {
					left = append(left, cm.Data["n"])
				}
				return nil
			}, Act: func(w *World) {
				w.Create(configMap("set", 1))
				act(w)
			}}, "replace@w3 early@w3")
			assert.Equal(t, 2, r.fired)
			if name == "deleted" {
				assert.Empty(t, left)
			} else {
				assert.Equal(t, []string{"7"}, left, "what users wrote meanwhile is not lost")
			}
		})
	}
}
