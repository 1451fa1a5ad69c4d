package exampleapp

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Where says which API server to use, by three flags of which at most one may be
// given. Without any it is the embedded one.
type Where struct {
	kubeconfig         string
	kubeconfigGiven    bool // also if it is empty
	cluster, inCluster bool
}

// AddFlags adds the three flags.
func (w *Where) AddFlags(flags *flag.FlagSet) {
	flags.BoolVar(&w.cluster, "cluster", false, "run on the cluster that kubectl would use: that of KUBECONFIG, or else of ~/.kube/config")
	flags.Func("kubeconfig", "run on the cluster of this kubeconfig `file`", func(file string) error {
		w.kubeconfig, w.kubeconfigGiven = file, true
		return nil
	})
	flags.BoolVar(&w.inCluster, "in-cluster", false, "run on the cluster this pod is part of, with its service account")
}

// Embedded reports whether none of the flags was given.
func (w *Where) Embedded() bool { return !w.cluster && !w.kubeconfigGiven && !w.inCluster }

// Config returns what leads to the cluster; nil if it is the embedded one. It
// reads files and variables, and makes no request. An error is one line that
// begins with the flag.
func (w *Where) Config() (*rest.Config, error) {
	switch {
	case w.cluster && w.kubeconfigGiven, w.cluster && w.inCluster, w.kubeconfigGiven && w.inCluster:
		return nil, errors.New("-cluster, -kubeconfig and -in-cluster each name a cluster; give one of them")
	case w.inCluster:
		cfg, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("-in-cluster: this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
		}
		if err != nil {
			return nil, fmt.Errorf("-in-cluster: no service account is mounted: %w", err)
		}
		return cfg, nil
	case w.kubeconfigGiven:
		if w.kubeconfig == "" {
			return nil, errors.New(`-kubeconfig "": no file is named; use -cluster for the one that kubectl would use`)
		}
		_, err := os.Stat(w.kubeconfig)
		var cfg *rest.Config
		if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
			err = pathErr.Err
		} else {
			cfg, err = load(&clientcmd.ClientConfigLoadingRules{ExplicitPath: w.kubeconfig})
		}
		if err != nil {
			return nil, fmt.Errorf("-kubeconfig %s: %w", w.kubeconfig, err)
		}
		return cfg, nil
	case w.cluster:
		// The rules of kubectl: the files that KUBECONFIG lists, merged, or else the one in the home folder.
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.WarnIfAllMissing = false
		cfg, err := load(rules)
		if err != nil {
			return nil, fmt.Errorf("-cluster: %w (looked at %v)", err, rules.GetLoadingPrecedence())
		}
		return cfg, nil
	}
	return nil, nil
}

func load(rules *clientcmd.ClientConfigLoadingRules) (*rest.Config, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("names no cluster (is it a kubeconfig, and is current-context set?)")
	}
	return cfg, err
}
