package readme_test

import (
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

// anAPIServer starts an API server with a ConfigMap.
func anAPIServer() (cfg *rest.Config, stop func()) {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	err = server.Create(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "colours"},
		Data:       map[string]string{"sky": "blue"},
	})
	if err != nil {
		log.Fatal(err)
	}
	return server.Config(), server.Close
}
