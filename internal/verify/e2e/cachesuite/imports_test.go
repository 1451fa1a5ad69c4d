package cachesuite

// What the tests of controller-runtime import, so that go.mod requires it.
import (
	_ "github.com/onsi/ginkgo/v2"
	_ "github.com/onsi/gomega"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	_ "sigs.k8s.io/controller-runtime/pkg/envtest"
	_ "sigs.k8s.io/controller-runtime/pkg/log/zap"

	_ "github.com/informerkit/informerkit/informer/controllerruntime"
)
