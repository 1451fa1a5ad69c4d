// Command config shows where a rest.Config comes from, in and out of a cluster,
// what goes wrong, and what the errors look like. It makes one request: for the
// version of the server.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/reflector"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{Name: "config", About: "Shows which API server is used, and why.", OnceOnCluster: true, Run: run}

func run(ctx context.Context, env *exampleapp.Env) error {
	if err := show(ctx, env.Out, env.Config); err != nil || !env.Embedded() {
		return err
	}
	return wrong(ctx, env)
}

// show prints what matters of a rest.Config, and asks its server.
func show(ctx context.Context, w io.Writer, cfg *rest.Config) error {
	fmt.Fprintf(w, "server       %s\n", cfg.Host)
	fmt.Fprintf(w, "credentials  %s\n", credentials(cfg))
	fmt.Fprintf(w, "limits       %v requests a second (0: 5, with bursts of 10; negative: none)\n", cfg.QPS)
	fmt.Fprintf(w, "timeout      %v (it must be 0 for a watch)\n", cfg.Timeout)
	v, err := ask(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "version      %s\n", v)
	return nil
}

// credentials says how the client proves who it is, never the secret itself.
func credentials(cfg *rest.Config) string {
	switch {
	case cfg.ExecProvider != nil:
		return "from the program " + cfg.ExecProvider.Command
	case cfg.CertFile != "" || len(cfg.CertData) > 0:
		return "a client certificate"
	case cfg.BearerTokenFile != "":
		return "the token in " + cfg.BearerTokenFile + ", read again when it changes"
	case cfg.BearerToken != "":
		return "a token"
	case cfg.Username != "":
		return "the password of " + cfg.Username
	}
	return "none"
}

// ask sends a request that every server answers to every user.
func ask(ctx context.Context, cfg *rest.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // else a silent server would be waited for
	defer cancel()
	client, err := reflector.HTTPClientFor(cfg) // a redirect gets no credentials
	if err != nil {
		return "", err
	}
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var v struct{ Major, Minor, GitVersion, Message string } // a Status with a message, if it is refused
	err = json.NewDecoder(answer.Body).Decode(&v)
	switch {
	case err == nil && v.Message != "":
		return "", errors.New(v.Message)
	case err != nil || v.GitVersion == "":
		return "", fmt.Errorf("%s answers, but not like an API server: is it the right address?", cfg.Host)
	}
	return "v" + v.Major + "." + v.Minor, nil
}

// wrong shows what the flags say when they are wrong.
func wrong(ctx context.Context, env *exampleapp.Env) error {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil { // so that the lines are short
		return err
	}
	if err := os.WriteFile("empty", nil, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile("gone", []byte("clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"), 0o600); err != nil {
		return err
	}
	_ = os.Setenv("KUBECONFIG", filepath.Join("no", "such", "file"))
	_ = os.Unsetenv("KUBERNETES_SERVICE_HOST")
	for _, args := range [][]string{
		{"-in-cluster"}, {"-cluster"}, {"-kubeconfig", ""}, {"-kubeconfig", "missing"}, {"-kubeconfig", "empty"},
		{"-cluster", "-in-cluster"}, {"-kubeconfig", "gone"},
	} {
		var where exampleapp.Where
		flags := flag.NewFlagSet("config", flag.ContinueOnError)
		where.AddFlags(flags)
		err := flags.Parse(args)
		var cfg *rest.Config
		if err == nil {
			cfg, err = where.Config()
		}
		if err == nil {
			_, err = ask(ctx, cfg)
		}
		fmt.Fprintf(env.Out, "\n%q\n    %v\n", args, err)
	}
	return nil
}
