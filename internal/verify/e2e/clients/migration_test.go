package clients

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/exampletest"
)

const migrationPage = "../../../../examples/MIGRATION.md"

// MIGRATION.md shows, first, the controller of migration_before_test.go, then what
// changes in each step. The one after the migration is tested beside that page; these
// need packages of client-go that the root module does not have.
func TestMigrationPageShowsTheControllerBefore(t *testing.T) {
	exampletest.Shows(t, migrationPage, "Before", "migration_before_test.go")
}

func TestMigrationPageShowsTheSteps(t *testing.T) {
	for heading, source := range map[string]string{
		"1. *": "migration_step1_test.go",
		"2. *": "migration_step2_test.go",
		"3. *": "migration_step3_test.go",
	} {
		exampletest.Shows(t, migrationPage, heading, source)
	}
}

func TestControllerWorksAtEachStepOfTheMigration(t *testing.T) {
	for name, run := range map[string]func(context.Context, *rest.Config, func(context.Context, *corev1.Pod, error) error) error{
		"before": before, "step 1": step1, "step 2": step2, "step 3": step3,
	} {
		t.Run(name, func(t *testing.T) { exampletest.ReconcilesPod(t, run) })
	}
}
