package e2e

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/leader"
	"github.com/informerkit/informerkit/informer/sharding"
)

// The server accepts each value that a constructor accepts, and the constructors refuse those that it refuses.
func TestTheServerAcceptsWhatTheConstructorsAccept(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	clientset := clientFor(t, cp)
	ns := newNamespace(t, clientset)
	cfg := rest.CopyConfig(cp.Config())
	cfg.QPS = -1
	a := func(n int) string { return strings.Repeat("a", n) }
	about := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	}
	clusterRole := &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: "system:x"}}

	event := func(component, reason, note string, about informer.Object) func() error {
		return func() error {
			events, err := client.NewEvents(cfg, component)
			if err == nil {
				err = events.Record(t.Context(), about, "Normal", reason, note)
			}
			return err
		}
	}
	manager := func(name string) func() error {
		return func() error {
			c, err := client.New[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), client.Options{FieldManager: name})
			if err == nil {
				_, err = c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "m-"}})
			}
			return err
		}
	}
	finishes := func(run func(context.Context) error, works func(stop context.CancelFunc)) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		works(cancel)
		if err := run(ctx); err != nil {
			return err
		}
		if ctx.Err() == context.DeadlineExceeded {
			return fmt.Errorf("it never worked")
		}
		return nil
	}
	lead := func(opts leader.Options) func() error {
		return func() error {
			stop := func() {}
			opts.Namespace, opts.Lead = ns, func(context.Context, *leader.Term) error { stop(); return nil }
			elector, err := leader.New(cfg, opts)
			if err != nil {
				return err
			}
			return finishes(elector.Run, func(cancel context.CancelFunc) { stop = cancel })
		}
	}
	shard := func(opts sharding.Options) func() error {
		return func() error {
			stop := func() {}
			opts.Namespace, opts.Parts = ns, 1
			opts.Work = func(ctx context.Context, _ *sharding.Part) error { stop(); <-ctx.Done(); return nil }
			replica, err := sharding.New(cfg, opts)
			if err != nil {
				return err
			}
			return finishes(replica.Run, func(cancel context.CancelFunc) { stop = cancel })
		}
	}
	web := about("web")
	for name, test := range map[string]struct {
		do      func() error
		refused string // by the constructor or Record; empty: all accept it
	}{
		"component":                     {do: event("web", "Seen", "x", web)},
		"component with a domain":       {do: event(strings.Repeat("a.", 100)+"com/"+a(63), "Seen", "x", web)},
		"component, odd characters":     {do: event("Example_1.x", "Seen", "x", web)},
		"component with a space":        {do: event("cron backups", "Seen", "x", web), refused: "qualified name"},
		"component with two slashes":    {do: event("a/b/c", "Seen", "x", web), refused: "qualified name"},
		"component, 64 characters":      {do: event(a(64), "Seen", "x", web), refused: "qualified name"},
		"component, a slash at the end": {do: event("a/", "Seen", "x", web), refused: "qualified name"},
		"no component":                  {do: event("", "Seen", "x", web), refused: "empty"},
		"reason, 128 bytes":             {do: event("web", a(128), "x", web)},
		"reason, 129 bytes":             {do: event("web", a(129), "x", web), refused: "reason"},
		"reason, spaces":                {do: event("web", "two words", "x", web)},
		"no reason":                     {do: event("web", "", "x", web), refused: "reason"},
		"no note":                       {do: event("web", "Seen", "", web)},
		"note, 1024 bytes":              {do: event("web", "Seen", a(1024), web)},
		"note, 4 MB":                    {do: event("web", "Seen", strings.Repeat("ä€", 1<<20), web)},
		"note, invalid":                 {do: event("web", "Seen", strings.Repeat("\xffa", 500), web)},
		"note, control characters":      {do: event("web", "Seen", strings.Repeat("\x00\x1b\n", 340), web)},
		"about 253 characters":          {do: event("web", "Seen", "x", about(a(253)))},
		"about a.b.c… of 253":           {do: event("web", "Seen", "x", about(strings.Repeat("a.", 126)+"a"))},
		"about a cluster role":          {do: event("web", "Seen", "x", clusterRole)},
		"about no name":                 {do: event("web", "Seen", "x", about(""))},
		"about Uppercase":               {do: event("web", "Seen", "x", about("Admin@example:1"))},
		"manager, 128 bytes":            {do: manager(a(128))},
		"manager, spaces and letters":   {do: manager("é ü 日本")},
		"manager, 129 bytes":            {do: manager(a(129)), refused: "FieldManager"},
		"manager, a tab":                {do: manager("a\tb"), refused: "FieldManager"},
		"lease, 253 characters":         {do: lead(leader.Options{Name: a(253)})},
		"lease, 254 characters":         {do: lead(leader.Options{Name: a(254)}), refused: "Options.Name"},
		"lease, a colon":                {do: lead(leader.Options{Name: "a:b"}), refused: "Options.Name"},
		"identity, 256 bytes":           {do: lead(leader.Options{Name: "i1", Identity: strings.Repeat("é", 128)})},
		"identity, control characters":  {do: lead(leader.Options{Name: "i2", Identity: "a\x00\n/"})},
		"identity, 257 bytes":           {do: lead(leader.Options{Name: "i3", Identity: a(257)}), refused: "Identity"},
		"the longest lease":             {do: lead(leader.Options{Name: "d1", LeaseDuration: math.MaxInt32 * time.Second})},
		"lease, a fraction":             {do: lead(leader.Options{Name: "d2", LeaseDuration: 10001 * time.Millisecond})},
		"lease, too long":               {do: lead(leader.Options{Name: "d3", LeaseDuration: (math.MaxInt32 + 1) * time.Second}), refused: "LeaseDuration"},
		"group, 63 characters":          {do: shard(sharding.Options{Name: a(63), Identity: "x"})},
		"group, 64 characters":          {do: shard(sharding.Options{Name: a(64), Identity: "x"}), refused: "Options.Name"},
		"group with a dot":              {do: shard(sharding.Options{Name: "a.b", Identity: "x"}), refused: "Options.Name"},
		"replica, the longest":          {do: shard(sharding.Options{Name: "r1", Identity: a(253 - len("r1-replica--01234567"))})},
		"replica, one more":             {do: shard(sharding.Options{Name: "r1", Identity: a(254 - len("r1-replica--01234567"))}), refused: "Options.Identity"},
		"replica with dots":             {do: shard(sharding.Options{Name: "r2", Identity: "a.b-1.c"})},
		"replica, uppercase":            {do: shard(sharding.Options{Name: "r3", Identity: "Pod"}), refused: "Options.Identity"},
		"group, the longest lease":      {do: shard(sharding.Options{Name: "l1", Identity: "x", LeaseDuration: time.Hour})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.do()
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.refused)
			var status apierrors.APIStatus
			assert.NotErrorAs(t, err, &status, "no request is sent")
		})
	}
}

// The count of a series has 32 bits, and counts from two.
func TestTheServerAcceptsTheCountsOfEvents(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	ns := newNamespace(t, clientFor(t, cp))
	c, err := client.New[*eventsv1.Event](cp.Config(), eventsv1.SchemeGroupVersion.WithResource("events"), client.Options{})
	require.NoError(t, err)
	e, err := c.Create(t.Context(), &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "e"}, EventTime: metav1.NowMicro(), Type: "Normal", Reason: "Seen", Action: "See",
		ReportingController: "c", ReportingInstance: "i", Regarding: corev1.ObjectReference{Namespace: ns},
	})
	require.NoError(t, err)
	for count, ok := range map[int64]bool{1: false, 2: true, math.MaxInt32: true, math.MaxInt32 + 1: false} {
		patch := fmt.Appendf(nil, `{"series":{"count":%d,"lastObservedTime":"2026-11-27T12:00:00.000000Z"}}`, count)
		_, err := c.Patch(t.Context(), client.KeyOf(e), types.MergePatchType, patch)
		assert.Equal(t, ok, err == nil, "%d: %v", count, err)
	}
}
