package measure

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Host describes the machine that a comparison ran on.
type Host struct {
	Go       string            `json:"go"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Platform string            `json:"platform"`
	Versions map[string]string `json:"versions"`
}

// peers are the modules whose versions matter, in order.
var peers = []string{
	"k8s.io/client-go",
	"sigs.k8s.io/controller-runtime",
}

// ThisHost looks around.
func ThisHost() Host {
	h := Host{
		Go: runtime.Version(), CPU: cpuModel(), Cores: runtime.GOMAXPROCS(0),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Versions: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			h.Versions[m.Path] = m.Version
		}
	}
	for path := range h.Versions {
		if !isPeer(path) {
			delete(h.Versions, path)
		}
	}
	return h
}

func isPeer(path string) bool { return slices.Contains(peers, path) }

// String is a line or two for the head of a table.
func (h Host) String() string {
	var versions []string
	for _, p := range peers {
		if v, ok := h.Versions[p]; ok {
			versions = append(versions, p[strings.LastIndexByte(p, '/')+1:]+" "+v)
		}
	}
	return fmt.Sprintf("%s, %s, %d × %s\n%s", h.Go, h.Platform, h.Cores, h.CPU, strings.Join(versions, ", "))
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
