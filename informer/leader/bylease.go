package leader

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"
)

// Held is what work may know of its [Term].
type Held = interface {
	Context() context.Context
	Held() bool
}

// ByLease returns a function that runs work in each term of this replica: the option Leader of package
// controller. Leave opts.Lead empty; work is called instead. Impossible options are an error of the function.
// It logs with opts.Logger, which is slog.Default() unless set, not with the controller's.
func ByLease(opts Options) func(ctx context.Context, cfg *rest.Config, work func(ctx context.Context, term Held) error) error {
	return func(ctx context.Context, cfg *rest.Config, work func(ctx context.Context, term Held) error) error {
		if opts.Lead != nil {
			return errors.New("leader: ByLease: the options have a Lead; the work is an argument of what ByLease returns")
		}
		o := opts
		o.Lead = func(ctx context.Context, term *Term) error { return work(ctx, term) }
		elector, err := New(cfg, o)
		if err != nil {
			return err
		}
		return elector.Run(ctx)
	}
}
