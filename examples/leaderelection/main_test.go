package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestWrongLeaseDurationIsReportedOnce(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	args := []string{"-kubeconfig", exampletest.Kubeconfig(t, informertest.Start(t, informertest.Options{}).URL()), "-inspect", "off", "-lease-duration", "10ms"}
	assert.Equal(t, 1, app().Main(t.Context(), args, nil, &bytes.Buffer{}, &errs))
	assert.Contains(t, errs.String(), "LeaseDuration is 10ms, RenewDeadline 6.666666ms")
	assert.Equal(t, 1, strings.Count(errs.String(), "leaderelection: "), "said once: %s", errs.String())
}
