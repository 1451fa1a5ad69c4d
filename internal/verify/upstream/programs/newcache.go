package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// managerOptions are where a file makes a manager of controller-runtime.
const managerOptions = "ctrl.Options{\n"

// newCacheFile selects the cache as adopt selects informers.
const newCacheFile = `
import (
	"os"

	"github.com/informerkit/informerkit/informer/controllerruntime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

func informerkitCache() cache.NewCacheFunc {
	if os.Getenv("INFORMERKIT") == "off" {
		return nil // its own
	}
	return controllerruntime.New
}
`

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// useNewCache gives the managers of a program's files the cache of informer/controllerruntime,
// and its go.mod the modules for that.
func (r runner) useNewCache(ctx context.Context, p program, dir string) error {
	for _, name := range p.newCache {
		file := filepath.Join(dir, filepath.FromSlash(name))
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		edited, added, err := withNewCache(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), "informerkit_test.go"), []byte(added), 0o600); err != nil {
			return err
		}
	}
	edits := []string{"go", "mod", "edit"}
	for _, below := range []string{"", "/informer/clientgo", "/informer/controllerruntime"} {
		module := "github.com/informerkit/informerkit" + below
		edits = append(edits, "-require="+module+"@v0.1.0", "-replace="+module+"="+filepath.Join(r.root, filepath.FromSlash(below)))
	}
	_, err := output(ctx, dir, edits...)
	return err
}

// withNewCache sets NewCache in the text of a file that makes a manager, and returns the text
// of the file that has to be beside it.
func withNewCache(text string) (edited, added string, err error) {
	if strings.Count(text, managerOptions) != 1 {
		return "", "", fmt.Errorf("it has to contain %q once", managerOptions)
	}
	edited = strings.Replace(text, managerOptions, managerOptions+"\t\tNewCache: informerkitCache(),\n", 1)
	return edited, packageClause.FindString(text) + "\n" + newCacheFile, nil
}
