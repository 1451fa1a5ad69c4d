package upstream

// What the tests of client-go and the adapters import, so that go.mod has it.
import (
	_ "k8s.io/client-go/tools/cache"
	_ "k8s.io/client-go/tools/cache/testing"
	_ "k8s.io/client-go/util/workqueue"
	_ "k8s.io/utils/clock/testing"

	_ "github.com/informerkit/informerkit/informer/clientgo"
)
