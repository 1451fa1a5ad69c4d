package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/bench"
)

// address is what the server prints when it is ready.
type address struct{ URL, Control string }

// serve is the API server with all objects. It ends with its standard input.
func serve(o options) error {
	opts := informertest.Options{Scheme: clientscheme.Scheme} // for protobuf
	for _, k := range kinds {
		if k.custom() {
			opts.Resources = append(opts.Resources, informertest.Resource{Group: group, Versions: []string{"v1"}, Kind: k.gvk.Kind, Plural: k.plural})
		}
	}
	server, err := informertest.NewServer(opts)
	if err != nil {
		return err
	}
	defer server.Close()
	for i := range namespaces {
		if err := server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace(i)}}); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		for i := range k.count(o) {
			if err := server.Create(k.build(i)); err != nil {
				return fmt.Errorf("creating a %s: %w", k.gvk.Kind, err)
			}
		}
	}
	return bench.ServeUntil(os.Stdin, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := change(server, o); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}), func(url string) error { return json.NewEncoder(os.Stdout).Encode(address{server.URL(), url}) })
}

// change modifies objects of all kinds, at the rate of the options: the same ones, in the
// same order, each time.
func change(server *informertest.Server, o options) error {
	begin := time.Now()
	done := 0
	for round := 0; done < o.changes; round++ {
		for _, k := range kinds {
			// As many of each kind as it has of all objects; at least one.
			for j := range max(1, k.per50k/500) {
				if done == o.changes {
					return nil
				}
				obj := k.build((round*37 + j*101) % k.count(o))
				err := server.Modify(k.resource(), obj.GetNamespace(), obj.GetName(), func(u *unstructured.Unstructured) {
					annotations := u.GetAnnotations()
					if annotations == nil {
						annotations = map[string]string{}
					}
					annotations["example.com/changed"] = time.Now().Format(time.RFC3339Nano)
					u.SetAnnotations(annotations)
				})
				if err != nil {
					return err
				}
				done++
				time.Sleep(time.Until(begin.Add(time.Duration(done) * time.Second / time.Duration(o.rate))))
			}
		}
	}
	return nil
}
