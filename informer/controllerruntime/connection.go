package controllerruntime

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/informerkit/informerkit/internal/httpclient"
	"github.com/informerkit/informerkit/reflector"
)

// complete fills in what controller-runtime's options leave to the cache.
func complete(cfg *rest.Config, opts cache.Options) (cache.Options, error) {
	if opts.NewInformer != nil {
		return opts, errors.New("controllerruntime: Options.NewInformer replaces what this cache is made of; leave it unset, or use controller-runtime's own cache")
	}
	var err error
	if opts.HTTPClient == nil {
		if opts.HTTPClient, err = httpclient.For(cfg); err != nil {
			return opts, fmt.Errorf("could not create HTTP client from config: %w", err)
		}
	}
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	if opts.Mapper == nil {
		if opts.Mapper, err = apiutil.NewDynamicRESTMapper(cfg, opts.HTTPClient); err != nil {
			return opts, fmt.Errorf("could not create RESTMapper from config: %w", err)
		}
	}
	return opts, nil
}

// connection returns the config of sources that use the transport of opts.HTTPClient, and
// with it its connections, its credentials and whatever the program has wrapped it in.
func connection(cfg *rest.Config, opts *cache.Options) (*rest.Config, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("controllerruntime: %w", err)
	}
	// TLS and credentials are matters of the transport.
	return &rest.Config{
		Host: base.String(), UserAgent: cfg.UserAgent, Transport: opts.HTTPClient.Transport,
		WarningHandler: cfg.WarningHandler, WarningHandlerWithContext: cfg.WarningHandlerWithContext,
	}, nil
}

// encoding is protobuf where there is one, unless the config says otherwise.
func encoding(cfg *rest.Config) reflector.Encoding {
	if cfg.ContentType != "" && !strings.Contains(cfg.ContentType, "protobuf") {
		return reflector.EncodingJSON
	}
	return ""
}
