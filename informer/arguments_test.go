package informer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
)

// Each row is a mistake, and what the error must advise.
func TestUnusableArgumentsAreRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	inf, err := New(newCluster().source(), Options[*pod]{})
	require.NoError(t, err)
	group, err := NewGroup(inf)
	require.NoError(t, err)
	factory := func(o FactoryOptions) error {
		_, err := NewFactory(&rest.Config{Host: "127.0.0.1:1"}, o)
		return err
	}
	fac, err := NewFactory(&rest.Config{Host: "127.0.0.1:1"}, FactoryOptions{})
	require.NoError(t, err)
	named, err := NewFactory(&rest.Config{Host: "127.0.0.1:1"}, FactoryOptions{Namespaces: []string{"a"}})
	require.NoError(t, err)
	shared := func(o ForOptions[*pod]) error {
		o.Resource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		_, err := For(fac, o)
		return err
	}
	var noInformer *Informer[*pod]
	var noFactory *Factory
	var noCache Cache[*pod]

	for name, row := range map[string]struct {
		err    error
		advice string
	}{
		"NewGroup, empty":              {second(NewGroup()), "pass the informers"},
		"NewGroup, nil":                {second(NewGroup(inf, nil)), "informer 2 is nil"},
		"NewGroup, nil pointer":        {second(NewGroup(inf, noInformer)), "informer 2 is nil"},
		"NewGroup, twice the same":     {second(NewGroup(inf, inf)), "pass each informer once"},
		"Group.Run, nil":               {group.Run(ctx, nil), "pass what the informers are for"},
		"Factory.Run, nil":             {fac.Run(ctx, nil), "pass what the informers are for"},
		"ReadyHandler, empty":          {second(ReadyHandler()), "pass informers or a factory"},
		"ReadyHandler, nil":            {second(ReadyHandler(nil)), "argument 1 is nil"},
		"ReadyHandler, nil informer":   {second(ReadyHandler(inf, noInformer)), "argument 2 is nil"},
		"ReadyHandler, nil factory":    {second(ReadyHandler(noFactory)), "argument 1 is nil"},
		"WaitForSync, nil":             {WaitForSync(ctx, inf, nil), "argument 2 is nil"},
		"WaitForSync, nil pointer":     {WaitForSync(ctx, noInformer), "argument 1 is nil"},
		"WaitFor, nil condition":       {second(inf.WaitFor(ctx, types.NamespacedName{Name: "x"}, nil)), "condition is nil"},
		"WaitForObject, nil":           {inf.WaitForObject(ctx, nil), "pass the object that the server returned"},
		"WaitForObject, nil pointer":   {inf.WaitForObject(ctx, (*pod)(nil)), "pass the object that the server returned"},
		"WaitForObject, not written":   {inf.WaitForObject(ctx, &pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), "resourceVersion"},
		"EnqueueKeysOf, nil":           {second(EnqueueKeysOf(noCache, &keys{})), "informer is nil"},
		"EnqueueKeysOf, nil pointer":   {second(EnqueueKeysOf[*pod](noInformer, &keys{})), "informer is nil"},
		"EnqueueOwnersOf, nil pointer": {second(EnqueueOwnersOf[*pod](noInformer, &keys{}, Owner{Kind: podKind})), "informer is nil"},
		"AddHandler, two options":      {second(inf.AddHandler(EnqueueKey[*pod](&keys{}), HandlerOptions{}, HandlerOptions{})), "HandlerOptions"},
		"NewFactory, negative resync":  {factory(FactoryOptions{ResyncPeriod: -1}), "ResyncPeriod"},
		"NewFactory, short resync":     {factory(FactoryOptions{ResyncPeriod: time.Millisecond}), "ResyncPeriod"},
		"AddNamespace, of all":         {fac.AddNamespace("a"), "set FactoryOptions.ByNamespace"},
		"AddNamespace, empty":          {named.AddNamespace(""), "namespace"},
		"AddNamespace, again":          {named.AddNamespace("a"), "a"},
		"For, nil factory":             {second(For[*pod](nil)), "NewFactory"},
		"For, two options":             {second(For(fac, ForOptions[*pod]{}, ForOptions[*pod]{})), "ForOptions"},
		"For, label selector":          {shared(ForOptions[*pod]{LabelSelector: "a in"}), "LabelSelector"},
		"For, field selector":          {shared(ForOptions[*pod]{FieldSelector: "a"}), "FieldSelector"},
		"For, reflector options":       {shared(ForOptions[*pod]{Reflector: reflector.Options{PageSize: -1}}), "PageSize"},
		"For, nil index":               {shared(ForOptions[*pod]{Indexer: indexer.Options[*pod]{Indexes: []indexer.IndexDefinition[*pod]{nil}}}), "nil"},
		"New, negative resync":         {second(New(newCluster().source(), Options[*pod]{ResyncPeriod: -1})), "ResyncPeriod"},
		"New, short resync":            {second(New(newCluster().source(), Options[*pod]{ResyncPeriod: 1})), "ResyncPeriod"},
		"NewNamespaced, nil source":    {second(NewNamespaced(map[string]reflector.ListerWatcher[*pod]{"a": nil}, Options[*pod]{})), "nil"},
	} {
		assert.ErrorContains(t, row.err, row.advice, name)
	}
	assert.Empty(t, inf.Health().Handlers)
}

// second returns the error of a function with two results.
func second[V any](_ V, err error) error { return err }
