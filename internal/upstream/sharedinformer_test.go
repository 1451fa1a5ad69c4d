package upstream

import "testing"

func TestSharedInformer(t *testing.T) {
	t.Parallel()
	suite{
		pkg: "k8s.io/client-go/tools/cache",
		rewritten: map[string][]string{
			"shared_informer.go": {
				"func NewSharedIndexInformerWithOptions(", "func newTheirSharedIndexInformer(",
				"sharedIndexInformer", "theirSharedIndexInformer",
			},
		},
		declarations: "testdata/cache/sharedinformer.go.txt",
		adapters:     []string{"indexer.go", "sharedinformer.go", "handler.go", "source.go"},
		renamed:      []string{"Indexer", "Store", "SharedInformer", "NewSharedInformer", "NewIndexer"},
		files:        []string{"shared_informer_test.go"},
		excluded: map[string]string{
			"mutation_detector_test.go": "it sets the detector of an informer; ours is an option of the indexer",
		},
		differs: map[string]string{
			"TestListenerResyncPeriods":         "a resync is spread over the period; client-go's comes all at once",
			"TestListenerResyncPeriodsDelayed":  "the same",
			"TestResyncCheckPeriod":             "it looks for the period in which all handlers are checked; ours have one each",
			"TestSharedInformerWatchDisruption": "it steps the clock of the informer",
			"TestSharedInformerErrorHandling":   "it sets a watch error handler, which would get client-go's Reflector",
			"TestSharedInformerTransformer":     "its transform renames objects; ours keeps the name",
			"TestEventPanics":                   "client-go's panic handlers, which are global, are not called: see HandlerOptions.OnPanic",
		},
	}.run(t)
}
