package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/workqueue"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
)

// configMap is an object of users: data.n says how many secrets they want.
func configMap(name string, n int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"n": strconv.Itoa(n)}}
}

// setN is a step of users.
func setN(n int) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, strconv.Itoa(n), "data", "n"); err != nil {
			panic(err)
		}
	}
}

// wanted is Eventually of the subjects here: each config map owns its number of secrets.
func wanted(v View) error {
	for _, cm := range List[corev1.ConfigMap](v, configMaps, "default") {
		n := 0
		for _, s := range List[corev1.Secret](v, secrets, "default") {
			if ref := metav1.GetControllerOf(&s); ref != nil && ref.UID == cm.UID {
				n++
			}
		}
		if want, err := strconv.Atoi(cm.Data["n"]); err == nil && n != want {
			return fmt.Errorf("%s has %d secrets, not %d", cm.Name, n, want)
		}
	}
	return nil
}

// reconciler is the body of a subject on this library's controllers.
type reconciler func(ctx context.Context, sets *controller.Resource[*corev1.ConfigMap], owned *controller.Resource[*corev1.Secret], key types.NamespacedName) error

// start makes a Start of it.
func start(reconcile reconciler) func(ctx context.Context, cfg *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		c := controller.New(controller.Options{Config: cfg, Name: "sets", Logger: slog.New(slog.DiscardHandler)})
		sets := controller.For[*corev1.ConfigMap](c, configMaps)
		owned := controller.Owns[*corev1.Secret](c, secrets)
		return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			return workqueue.Result{}, reconcile(ctx, sets, owned, key)
		})
	}
}

// secretName is the name of the i-th secret.
func secretName(set string, i int) string { return fmt.Sprintf("%s-%d", set, i) }

// newSecret is the i-th secret of a config map.
func newSecret(cm *corev1.ConfigMap, i int) (*corev1.Secret, error) {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: secretName(cm.Name, i)}}
	return s, client.SetController(s, cm, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

// good keeps the secrets under fixed names, so that nothing is made twice.
func good(ctx context.Context, sets *controller.Resource[*corev1.ConfigMap], owned *controller.Resource[*corev1.Secret], key types.NamespacedName) error {
	cm, err := sets.Get(key)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	n, err := strconv.Atoi(cm.Data["n"])
	if err != nil {
		return nil // not one of ours
	}
	have := map[string]*corev1.Secret{}
	for _, s := range owned.Owned(cm) {
		have[s.Name] = s
	}
	for i := range n {
		name := secretName(cm.Name, i)
		if have[name] != nil {
			delete(have, name)
			continue
		}
		s, err := newSecret(cm, i)
		if err != nil {
			return err
		}
		if _, err := owned.Create(ctx, s); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, s := range have {
		if err := owned.Delete(ctx, client.KeyOf(s), client.Exactly(s)); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// randomNames creates under generated names: an answer that is lost makes two of one.
func randomNames(ctx context.Context, sets *controller.Resource[*corev1.ConfigMap], owned *controller.Resource[*corev1.Secret], key types.NamespacedName) error {
	cm, err := sets.Get(key)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	n, err := strconv.Atoi(cm.Data["n"])
	if err != nil {
		return nil // not one of ours
	}
	for range n - len(owned.Owned(cm)) {
		s, err := newSecret(cm, 0)
		if err != nil {
			return err
		}
		s.Name, s.GenerateName = "", cm.Name+"-"
		if _, err := owned.Create(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// scaling is Act of the subjects here.
func scaling(w *World) {
	w.Create(configMap("set", 1))
	w.Change(configMaps, "default", "set", setN(3))
	w.Change(configMaps, "default", "set", setN(2))
}

// growing only asks for more.
func growing(w *World) {
	w.Create(configMap("set", 1))
	w.Change(configMaps, "default", "set", setN(3))
}

// every makes a Start that calls a function each second, without any cache.
func every(tick func(ctx context.Context, cfg *rest.Config) error) func(ctx context.Context, cfg *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		for {
			if err := tick(ctx, cfg); err != nil && ctx.Err() == nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
		}
	}
}

// listAndWatch follows the config maps until the watch ends. at is where to begin.
func listAndWatch(read func(query string) (*http.Response, error), at *string, saw func(n string)) error {
	resp, err := read("resourceVersion=" + *at)
	if err != nil {
		return err
	}
	var list corev1.ConfigMapList
	err = json.NewDecoder(resp.Body).Decode(&list)
	_ = resp.Body.Close() // it has been read
	if err != nil {
		return err
	}
	for _, cm := range list.Items {
		saw(cm.Data["n"])
	}
	if resp, err = read("watch=true&resourceVersion=" + list.ResourceVersion); err != nil {
		return err
	}
	defer resp.Body.Close()
	for events := json.NewDecoder(resp.Body); ; {
		var ev struct {
			Type   string
			Object corev1.ConfigMap
		}
		if err := events.Decode(&ev); err != nil {
			return err
		}
		if ev.Type == "ERROR" {
			return errors.New(ev.Type)
		}
		saw(ev.Object.Data["n"])
	}
}

// subsequence reports whether some follows all, with states left out or seen again.
func subsequence(some, all []string) bool {
	for _, s := range some {
		i := slices.Index(all, s)
		if i < 0 {
			return false
		}
		all = all[i:]
	}
	return true
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
