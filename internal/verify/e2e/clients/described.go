package clients

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// describedAPI asks what the server is and what its objects look like, as tools do.
func describedAPI(t *testing.T, cfg *rest.Config, _ string) {
	c := discovery.NewDiscoveryClientForConfigOrDie(cfg)
	version, err := c.ServerVersion()
	require.NoError(t, err)
	assert.Equal(t, "1", version.Major)
	document, err := c.OpenAPISchema() // protobuf
	require.NoError(t, err)
	definitions := map[string]string{}
	for _, d := range document.GetDefinitions().GetAdditionalProperties() {
		for _, x := range d.GetValue().GetVendorExtension() {
			if x.GetName() == "x-kubernetes-group-version-kind" {
				definitions[d.GetName()] = x.GetValue().GetYaml()
			}
		}
		if d.GetName() != "io.k8s.api.apps.v1.DeploymentSpec" {
			continue
		}
		for _, p := range d.GetValue().GetProperties().GetAdditionalProperties() {
			if p.GetName() == "template" {
				assert.Equal(t, "#/definitions/io.k8s.api.core.v1.PodTemplateSpec", p.GetValue().GetXRef())
				assert.NotEmpty(t, p.GetValue().GetDescription())
			}
		}
	}
	assert.Contains(t, definitions["io.k8s.api.apps.v1.Deployment"], "Deployment")
	assert.Contains(t, definitions["io.k8s.api.core.v1.Pod"], "Pod")
	paths := 0
	for _, p := range document.GetPaths().GetPath() {
		if strings.HasPrefix(p.GetName(), "/apis/apps/v1/") && p.GetValue().GetGet() != nil {
			paths++
		}
	}
	assert.NotZero(t, paths)

	third, err := c.OpenAPIV3().Paths()
	require.NoError(t, err)
	require.Contains(t, third, "apis/apps/v1")
	schema, err := third["apis/apps/v1"].Schema("application/json")
	require.NoError(t, err)
	assert.Contains(t, string(schema), "io.k8s.api.apps.v1.Deployment")
	_, lists, err := c.ServerGroupsAndResources()
	require.NoError(t, err)
	assert.NotEmpty(t, lists)
}
