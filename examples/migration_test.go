package examples

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/examples/exampletest"
)

// MIGRATION.md shows, last, the controller of migration_after_test.go. Those before it
// need packages of client-go that this module does not have: internal/verify/e2e/clients tests
// them, in the same way.
func TestMigrationPageShowsTheControllerAfter(t *testing.T) {
	exampletest.Shows(t, "MIGRATION.md", "After:", "migration_after_test.go")
	assert.Equal(t, 5, strings.Count(exampletest.Read(t, "MIGRATION.md"), "```go\n"), "each Go block of the page has its test, here or in internal/verify/e2e/clients")
}

func TestControllerAfterTheMigrationWorks(t *testing.T) { exampletest.ReconcilesPod(t, after) }
