package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/examples/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestWrongLeaseDurationIsReportedInOneLine(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	args := []string{"-kubeconfig", exampletest.Kubeconfig(t, "http://127.0.0.1:1"), "-inspect", "off", "-lease-duration", "10ms"}
	assert.Equal(t, 1, app().Main(t.Context(), args, nil, &bytes.Buffer{}, &errs))
	assert.Contains(t, errs.String(), "LeaseDuration is 10ms, RenewDeadline 6.666666ms")
	assert.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
}
