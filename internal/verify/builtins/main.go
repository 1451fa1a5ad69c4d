// Command builtins describes the Go types of the built-in kinds for the embedded API server,
// which must not import them: it would make each test that starts a server compile all of
// k8s.io/api. It writes
//
//	informer/informertest/internal/builtin/types.json.gz
//
// The description has what the server needs: names, types and tags of the fields, and how
// a server-side apply merges them, which client-go knows. It is of the release of the
// Kubernetes modules that go.mod of the library requires.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// File is where the description is stored.
const File = "informer/informertest/internal/builtin/types.json.gz"

func main() {
	log.SetFlags(0)
	text, err := Describe()
	if err != nil {
		log.Fatal(err)
	}
	path, err := target()
	if err != nil {
		log.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d bytes, unpacked %d\n", path, packed.Len(), len(text))
}

// target is the path of [File].
func target() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/informerkit/informerkit").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(File)), nil
}

// Describe returns the description as JSON, one struct per line.
func Describe() ([]byte, error) {
	kinds, err := served()
	if err != nil {
		return nil, err
	}
	merging, err := mergeRules()
	if err != nil {
		return nil, err
	}
	d := newDescriber(merging)
	for _, gvk := range kinds {
		if err := d.addKind(gvk); err != nil {
			return nil, err
		}
	}
	return d.text()
}

// release is the version of k8s.io/api, which the path of its source names.
func release() string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(corev1.Resource).Pointer()).FileLine(0)
	_, version, _ := strings.Cut(file, "k8s.io/api@")
	version, _, _ = strings.Cut(version, "/")
	return version
}

// text is the JSON text of what was described.
func (d *describer) text() ([]byte, error) {
	var out bytes.Buffer
	section := func(name string, values map[string]any, last string) error {
		fmt.Fprintf(&out, "%q:{\n", name)
		for i, key := range sortedKeys(values) {
			value, err := json.Marshal(values[key])
			if err != nil {
				return err
			}
			if i > 0 {
				out.WriteString(",\n")
			}
			fmt.Fprintf(&out, "%q:%s", key, value)
		}
		out.WriteString("}" + last + "\n")
		return nil
	}
	fmt.Fprintf(&out, "{\"release\":%q,\n", release())
	for _, s := range []struct {
		name   string
		values map[string]any
		last   string
	}{{"kinds", d.kinds, ","}, {"known", d.known, ","}, {"structs", d.structs, "}"}} {
		if err := section(s.name, s.values, s.last); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
