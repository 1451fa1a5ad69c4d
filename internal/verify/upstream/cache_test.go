package upstream

import "testing"

// The tests of stores, of the DeltaFIFO and of shared informers are of one package, so
// they are compiled together.
func TestCache(t *testing.T) {
	t.Parallel()
	suite{
		pkg: "k8s.io/client-go/tools/cache",
		rewritten: map[string][]string{
			"shared_informer.go": {
				"func NewSharedIndexInformerWithOptions(", "func newTheirSharedIndexInformer(",
				"sharedIndexInformer", "theirSharedIndexInformer",
			},
			"thread_safe_store.go": {
				"func NewThreadSafeStore(", "func newTheirThreadSafeStore(",
				"threadSafeMap", "theirThreadSafeMap",
			},
			"delta_fifo.go": {
				"DeltaFIFOOptions struct", "DeltaFIFOOptions struct", // of two that match, the first counts
				"opts DeltaFIFOOptions", "opts DeltaFIFOOptions",
				"(DeltaFIFOOptions{", "(DeltaFIFOOptions{",
				"DeltaFIFO", "theirDeltaFIFO",
			},
		},
		declarations: []string{"boxed.go.txt", "threadsafestore.go.txt", "deltafifo.go.txt", "sharedinformer.go.txt", "metricsprovider.go.txt"},
		adapters:     []string{"indexer.go", "sharedinformer.go", "generated.go", "handler.go", "source.go", "boxed.go", "logging.go", "watcherrors.go", "registration.go", "informermetrics.go", "classic.go", "share.go"},
		renamed: []string{
			"Indexer", "Store", "SharedInformer", "NewSharedInformer", "NewIndexer", "NewSharedIndexInformer", "NewSharedIndexInformerWithOptions",
			"NewInformer", "NewInformerWithOptions", "NewIndexerInformer", "NewTransformingInformer", "NewTransformingIndexerInformer", "controller",
		},
		files: []string{"store_test.go", "index_test.go", "thread_safe_store_test.go", "delta_fifo_test.go", "shared_informer_test.go", "typed_test.go"},
		excluded: map[string]string{
			"mutation_detector_test.go": "it sets the detector of an informer; ours is an option of the indexer",
		},
		unrelated: map[string]string{
			"TestKeyError":                   "an error type",
			"TestFIFOCache":                  "client-go's FIFO, which has no counterpart",
			"TestDeltaFIFO_KeyOf":            "the key of an object is its namespace and name; there is no function to choose",
			"TestWithStoreMetricsDefaulting": "the metrics of client-go's stores",
		},
		differs: map[string]string{
			"TestListenerResyncPeriods":        "a resync is spread over the period; client-go's comes all at once",
			"TestListenerResyncPeriodsDelayed": "the same",
			"TestResyncCheckPeriod":            "it looks for the period in which all handlers are checked; ours have one each",
			"TestDeltaFIFO_HasSynced":          "an Add before the first Replace does not make it synced: only a list says what there is",
			"TestThreadSafeStoreRV":            "the version is what the writer sets; client-go takes that of the object written last",
		},
		varies: []string{"TestListenerResyncPeriods", "TestListenerResyncPeriodsDelayed"},
	}.run(t)
}
