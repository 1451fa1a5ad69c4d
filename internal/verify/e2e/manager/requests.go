package manager

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
)

// auditPolicy logs every request, without bodies, once.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
`

// requests counts those of the program in an audit log, from an offset on, by verb. The
// requests by which our informers look at single objects after a broken connection are
// counted apart, as "spot check".
func requests(path string, offset int64) (map[string]int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, 0); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct{ Verb, UserAgent, RequestURI string }
		if json.Unmarshal(lines.Bytes(), &entry) != nil || !strings.HasPrefix(entry.UserAgent, "kube-controller-manager") {
			continue // a line that is not whole: the API server was killed
		}
		if entry.Verb == "list" && strings.Contains(entry.RequestURI, "metadata.name%3D") {
			entry.Verb = "spot check"
		}
		counts[entry.Verb]++
	}
	return counts, lines.Err()
}

// sizeOf is the length of a file, 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
