package reconcile

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Host says what a measurement ran on.
type Host struct {
	measure.Host
	Server string `json:"kubeAPIServer"`
}

// thisHost looks around, and asks the server for its version.
func thisHost(server *rest.Config) (Host, error) {
	client, err := kubernetes.NewForConfig(server)
	if err != nil {
		return Host{}, err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return Host{}, err
	}
	return Host{measure.ThisHost(), version.GitVersion}, nil
}

// String is a line or two for the head of a table.
func (h Host) String() string { return fmt.Sprintf("kube-apiserver %s; %s", h.Server, h.Host) }
