package client_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
)

// One object, created or changed as needed. Without a cache, have is nil, and the server is asked.
func ExampleClient_CreateOrUpdate() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	maps, err := client.New[*corev1.ConfigMap](server.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"), client.Options{})
	if err != nil {
		panic(err)
	}
	key := types.NamespacedName{Namespace: "default", Name: "settings"}
	for _, colour := range []string{"blue", "green", "green"} {
		_, outcome, err := maps.CreateOrUpdate(ctx, key, nil, func(m *corev1.ConfigMap) error {
			m.Data = map[string]string{"colour": colour}
			return nil
		})
		fmt.Println(colour, outcome, err)
	}
	// Output:
	// blue created <nil>
	// green updated <nil>
	// green unchanged <nil>
}

// Only the object that was looked at is deleted, not another one that has taken its name since.
func ExampleExactly() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	maps, err := client.New[*corev1.ConfigMap](server.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"), client.Options{})
	if err != nil {
		panic(err)
	}
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(maps.Delete(ctx, client.KeyOf(made), client.Exactly(made)))
	// Output: <nil>
}
