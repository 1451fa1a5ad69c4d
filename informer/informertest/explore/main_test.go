package explore

import (
	"testing"

	"github.com/informerkit/informerkit/internal/verify/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
