package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// etcdData is the folder of etcd's files in the data folder.
const etcdData = "etcd"

// etcdServer is a running etcd of one member.
type etcdServer struct {
	*process
	url string // of clients: gRPC, and the JSON form of it
}

// startEtcd runs the etcd at path with its data in dir and returns when it answers.
func startEtcd(ctx context.Context, path string, flags []string, dir *dataDir) (*etcdServer, error) {
	clients, err := loopbackURL()
	if err != nil {
		return nil, err
	}
	peers, err := loopbackURL()
	if err != nil {
		return nil, err
	}
	p, err := startProcess("etcd", path, append([]string{
		"--name=e2e",
		"--data-dir=" + dir.join(etcdData),
		"--listen-client-urls=" + clients, "--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=e2e=" + peers,
	}, flags...), dir.join("etcd.log"))
	if err != nil {
		return nil, err
	}
	e := &etcdServer{process: p, url: clients}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return e, p.waitReady(ctx, func(ctx context.Context) error {
		_, err := e.revision(ctx)
		return err
	})
}

// loopbackURL returns an address for a server to listen on.
func loopbackURL() (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	return "http://127.0.0.1:" + strconv.Itoa(port), nil
}

// revision returns the revision of the last write, which is what the API server
// calls resourceVersion.
func (e *etcdServer) revision(ctx context.Context) (int64, error) {
	var answer struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	// Any read will do; its header has the revision. The key is a zero byte in base64.
	err := e.post(ctx, "/v3/kv/range", map[string]any{"key": "AA=="}, &answer)
	return answer.Header.Revision, err
}

// compact makes etcd forget all revisions but the current one, and returns that.
func (e *etcdServer) compact(ctx context.Context) (int64, error) {
	revision, err := e.revision(ctx)
	if err != nil {
		return 0, err
	}
	request := map[string]any{"revision": strconv.FormatInt(revision, 10), "physical": true}
	return revision, e.post(ctx, "/v3/kv/compaction", request, nil)
}

// post sends a request to etcd in its JSON form and decodes the answer into out
// unless that is nil.
func (e *etcdServer) post(ctx context.Context, path string, request, out any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Close = true // a request now and then is not worth a connection that outlives the test
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answered %s to %s: %s", resp.Status, path, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}
