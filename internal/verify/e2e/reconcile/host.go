package reconcile

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Host says what a measurement ran on.
type Host struct {
	Go       string `json:"go"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	Platform string `json:"platform"`
	Server   string `json:"kubeAPIServer"`
	ClientGo string `json:"clientGo"`
}

// thisHost looks around, and asks the server for its version.
func thisHost(server *rest.Config) (Host, error) {
	h := Host{
		Go: runtime.Version(), CPU: cpuModel(), Cores: runtime.GOMAXPROCS(0),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, ClientGo: "of unknown version",
	}
	client, err := kubernetes.NewForConfig(server)
	if err != nil {
		return h, err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return h, err
	}
	h.Server = version.GitVersion
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "k8s.io/client-go" {
				h.ClientGo = m.Version
			}
		}
	}
	return h, nil
}

// String is two lines for the head of a table.
func (h Host) String() string {
	return fmt.Sprintf("%s, %s, %d × %s\nkube-apiserver %s, client-go %s",
		h.Go, h.Platform, h.Cores, h.CPU, h.Server, h.ClientGo)
}

// cpuModel is the model of the processor, as far as the system reports it.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}
