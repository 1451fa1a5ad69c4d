package leader_test

import (
	"context"
	"fmt"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/leader"
)

// A replica leads until it is stopped. Then another one does.
func Example() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	for _, name := range []string{"first", "second"} {
		ctx, cancel := context.WithCancel(context.Background())
		elector, err := leader.New(server.Config(), leader.Options{
			Name: "my-controller", Namespace: "default", Identity: name,
			Lead: func(ctx context.Context, term *leader.Term) error {
				fmt.Println(name, "leads:", term.Held())
				cancel() // SIGTERM, in a real program
				<-ctx.Done()
				return nil
			},
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(name, "has ended:", elector.Run(ctx))
	}
	// Output:
	// first leads: true
	// first has ended: <nil>
	// second leads: true
	// second has ended: <nil>
}
