package readme_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

func Example_informer() {
	cfg, stop := anAPIServer() // or the *rest.Config of your cluster
	defer stop()

	source, err := reflector.NewResource[*corev1.ConfigMap](cfg,
		corev1.SchemeGroupVersion.WithResource("configmaps"), reflector.ResourceOptions{Namespace: "default"})
	if err != nil {
		log.Fatal(err)
	}
	configMaps, err := informer.New(source, informer.Options[*corev1.ConfigMap]{})
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go configMaps.Run(ctx)
	if err := informer.WaitForSync(ctx, configMaps); err != nil {
		log.Fatal(err) // names what is not synced, and why
	}

	for event := range configMaps.Events(ctx) { // or AddHandler, for callbacks
		fmt.Println(event.Type, event.Key)
		break
	}
	colours, err := configMaps.Lister().Get("default", "colours") // from the cache, without a lock
	fmt.Println(colours.Name, err)
	// Output:
	// Added default/colours
	// colours <nil>
}
