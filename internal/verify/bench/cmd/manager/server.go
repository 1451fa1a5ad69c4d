package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// server is the API server with all objects, in its own process.
type server struct {
	o   Options
	api *informertest.Server
}

// Begin starts the server, and replies its address.
func (s *server) Begin(o Options, url *string) (err error) {
	opts := informertest.Options{Scheme: clientscheme.Scheme} // for protobuf
	for _, k := range kinds {
		if k.custom() {
			opts.Resources = append(opts.Resources, informertest.Resource{Group: group, Versions: []string{"v1"}, Kind: k.gvk.Kind, Plural: k.plural})
		}
	}
	if s.api, err = informertest.NewServer(opts); err != nil {
		return err
	}
	s.o, *url = o, s.api.URL()
	for i := range namespaces {
		if err := s.api.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace(i)}}); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		for i := range k.count(o) {
			if err := s.api.Create(k.build(i)); err != nil {
				return fmt.Errorf("creating a %s: %w", k.gvk.Kind, err)
			}
		}
	}
	return nil
}

// Change modifies objects of all kinds, at the rate of the options: the same ones, in the
// same order, each time.
func (s *server) Change(measure.None, *measure.None) error {
	o := s.o
	begin := time.Now()
	done := 0
	for round := 0; done < o.Changes; round++ {
		for _, k := range kinds {
			// As many of each kind as it has of all objects; at least one.
			for j := range max(1, k.per50k/500) {
				if done == o.Changes {
					return nil
				}
				obj := k.build((round*37 + j*101) % k.count(o))
				err := s.api.Modify(k.resource(), obj.GetNamespace(), obj.GetName(), func(u *unstructured.Unstructured) {
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
				time.Sleep(time.Until(begin.Add(time.Duration(done) * time.Second / time.Duration(o.Rate))))
			}
		}
	}
	return nil
}
