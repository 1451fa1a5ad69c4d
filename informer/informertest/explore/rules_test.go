package explore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
)

var theSet = types.NamespacedName{Namespace: "default", Name: "set"}

// clients returns clients for config maps and secrets. It runs in a Start: an error is a panic.
func clients(cfg *rest.Config) (*client.Client[*corev1.ConfigMap], *client.Client[*corev1.Secret]) {
	sets, err := client.New[*corev1.ConfigMap](cfg, configMaps, client.Options{})
	if err != nil {
		panic(err)
	}
	owned, err := client.New[*corev1.Secret](cfg, secrets, client.Options{})
	if err != nil {
		panic(err)
	}
	return sets, owned
}

// found searches and requires a finding of a rule.
func found(t *testing.T, rule string, subject Subject) *Finding {
	t.Helper()
	result := Search(t, Options{Schedules: 100}, subject)
	require.NotNil(t, result.Finding, "want %s", rule)
	t.Log(result.Finding)
	require.Equal(t, rule, result.Finding.Rule)
	return result.Finding
}

func createSet(w *World) { w.Create(configMap("set", 1)) }

// Promise explore/8
func TestAPanicThatAControllerRecoversIsFound(t *testing.T) {
	f := found(t, rulePanic, Subject{Act: createSet, Start: start(func(context.Context, *controller.Resource[*corev1.ConfigMap], *controller.Resource[*corev1.Secret], types.NamespacedName) error {
		panic("out of range")
	})})
	assert.Contains(t, f.Reason, "out of range")
}

// Promise explore/8
func TestAPanicOfStartIsFound(t *testing.T) {
	f := found(t, rulePanic, Subject{Act: createSet, Start: every(func(ctx context.Context, cfg *rest.Config) error {
		sets, _ := clients(cfg)
		if cm, err := sets.Get(ctx, theSet); err == nil {
			panic("cannot handle " + cm.Name)
		}
		return nil
	})})
	assert.Contains(t, f.Reason, "cannot handle set")
	assert.Contains(t, f.Reason, "rules_test.go", "the stack")
}

// Promise explore/8
func TestAStartThatKeepsEndingIsFound(t *testing.T) {
	f := found(t, ruleStart, Subject{Start: func(context.Context, *rest.Config) error { return errors.New("no such flag") }})
	assert.Contains(t, f.Reason, "no such flag")
}

// Promise explore/8
func TestALateEndIsFound(t *testing.T) {
	found(t, ruleGrace, Subject{Start: func(ctx context.Context, _ *rest.Config) error {
		<-ctx.Done()
		<-time.After(time.Minute)
		return nil
	}})
}

// Promise explore/8
func TestEndlessWritesAreFound(t *testing.T) {
	n := func() string { return time.Now().String() }
	found(t, ruleWriteLoop, Subject{Act: createSet, Start: every(func(ctx context.Context, cfg *rest.Config) error {
		sets, _ := clients(cfg)
		_, err := sets.Modify(ctx, theSet, func(cm *corev1.ConfigMap) error {
			metav1.SetMetaDataAnnotation(&cm.ObjectMeta, "checked", n())
			return nil
		})
		return client.IgnoreNotFound(err)
	})})
}

// Promise explore/8
func TestEndlessReadsAreFound(t *testing.T) {
	found(t, ruleHotLoop, Subject{Act: createSet, Start: func(ctx context.Context, cfg *rest.Config) error {
		sets, _ := clients(cfg)
		for ctx.Err() == nil {
			_, _ = sets.Get(ctx, theSet) // the answer does not matter here
			<-time.After(10 * time.Millisecond)
		}
		return nil
	}})
}

// Promise explore/8
func TestEndlessFailuresAreFound(t *testing.T) {
	f := found(t, ruleSilent, Subject{Act: createSet, Start: every(func(ctx context.Context, cfg *rest.Config) error {
		_, owned := clients(cfg)
		_, _ = owned.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "Not_A_Name"}}) // the bug
		return nil
	})})
	assert.Contains(t, f.Reason, "422")
}

// Promise explore/8
func TestWhatACrashLeavesBehindIsFound(t *testing.T) {
	f := found(t, ruleOrphan, Subject{Act: createSet, Start: every(func(ctx context.Context, cfg *rest.Config) error {
		sets, owned := clients(cfg)
		cm, err := sets.Get(ctx, theSet)
		if err != nil || cm.Annotations["secret"] != "" {
			return client.IgnoreNotFound(err)
		}
		s, err := owned.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "s-"}})
		if err != nil {
			return nil // next time
		}
		_, _ = sets.Modify(ctx, theSet, func(cm *corev1.ConfigMap) error { // or next time
			metav1.SetMetaDataAnnotation(&cm.ObjectMeta, "secret", s.Name)
			return nil
		})
		return nil
	})})
	assert.NotEmpty(t, f.Schedule)
}

// Promise explore/8
func TestAnOldValueThatIsPutBackIsFound(t *testing.T) {
	f := found(t, rulePutBack, Subject{Act: growing, Start: every(func(ctx context.Context, cfg *rest.Config) error {
		sets, _ := clients(cfg)
		cm, err := sets.Get(ctx, theSet)
		if err != nil || cm.Data["seen"] != "" {
			return client.IgnoreNotFound(err)
		}
		// The whole of data, without the version that was read.
		_, _ = sets.Patch(ctx, theSet, types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":%q,"seen":"yes"}}`, cm.Data["n"])) // or next time
		return nil
	})})
	assert.Contains(t, f.Schedule, earlyStep)
}

// Promise explore/8
func TestADeletionOfAnUnseenObjectIsFound(t *testing.T) {
	f := found(t, ruleWrongObject, Subject{Act: createSet, Start: every(func(ctx context.Context, cfg *rest.Config) error {
		sets, _ := clients(cfg)
		if _, err := sets.Get(ctx, theSet); err == nil {
			_ = sets.Delete(ctx, theSet, metav1.DeleteOptions{}) // or next time
		}
		return nil
	})})
	assert.Contains(t, f.Schedule, replaced)
}

// Promise explore/8
func TestCreatingForAnOwnerThatIsGoneIsFound(t *testing.T) {
	f := found(t, ruleDeadOwner, Subject{Start: start(good), Act: func(w *World) {
		w.Create(configMap("set", 1))
		w.Delete(configMaps, "default", "set")
	}})
	assert.NotEmpty(t, f.Schedule)
	assert.Contains(t, strings.Join(f.Trace, "\n"), "still has configmaps default/set")
}

// Asking the server before creating is enough.
//
// Promise explore/1
func TestAskingWhetherTheOwnerLivesSurvives(t *testing.T) {
	asks := func(ctx context.Context, sets *controller.Resource[*corev1.ConfigMap], owned *controller.Resource[*corev1.Secret], key types.NamespacedName) error {
		cached, err := sets.Get(key)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		if fresh, err := sets.Client.Get(ctx, key); err != nil || fresh.UID != cached.UID {
			return client.IgnoreNotFound(err)
		}
		return good(ctx, sets, owned, key)
	}
	result := Search(t, Options{Schedules: 60}, Subject{Start: start(asks), Eventually: wanted, Act: func(w *World) {
		w.Create(configMap("set", 1))
		w.Delete(configMaps, "default", "set")
		w.Create(configMap("set", 2))
		w.Delete(configMaps, "default", "set")
	}})
	assert.Nil(t, result.Finding)
}
