package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// mergeRule is how a server-side apply merges a type or a field, in the words of OpenAPI.
type mergeRule struct {
	list, keys   string // x-kubernetes-list-type, x-kubernetes-list-map-keys
	mapping      string // x-kubernetes-map-type
	defaultValue string // in JSON
}

func (r mergeRule) tag() string {
	return tagOf("listType", r.list, "listMapKeys", r.keys, "mapType", r.mapping, "default", r.defaultValue)
}

// merged is a type in the schema of client-go.
type merged struct {
	Name string  `json:"name"`
	Map  *mapped `json:"map"`
	List *struct {
		ElementRelationship string   `json:"elementRelationship"`
		Keys                []string `json:"keys"`
	} `json:"list"`
	NamedType           string `json:"namedType"`
	ElementRelationship string `json:"elementRelationship"`
}

// mapped is a struct or a map in it.
type mapped struct {
	Fields []struct {
		Name    string          `json:"name"`
		Type    merged          `json:"type"`
		Default json.RawMessage `json:"default"`
	} `json:"fields"`
	ElementRelationship string `json:"elementRelationship"`
}

// mergeRules reads the schema that client-go's apply configurations have been generated with. The keys
// are names of types, or those and the name of a field.
func mergeRules() (map[string]mergeRule, error) {
	text, err := clientGoSchema()
	if err != nil {
		return nil, err
	}
	raw, err := yaml.ToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var schema struct {
		Types []merged `json:"types"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	rules := map[string]mergeRule{}
	for _, typ := range schema.Types {
		rules[typ.Name] = typ.rule()
		if typ.Map == nil {
			continue
		}
		for _, f := range typ.Map.Fields {
			rule := f.Type.rule()
			if text := string(f.Default); text != "" && text != "null" && text != "{}" {
				rule.defaultValue = text
			}
			rules[typ.Name+" "+f.Name] = rule
		}
	}
	return rules, nil
}

// rule is the rule of a type or of a reference to one.
func (m merged) rule() mergeRule {
	var r mergeRule
	relationship := m.ElementRelationship
	switch {
	case m.List != nil && m.Map != nil: // of any type
		return r
	case m.List != nil && m.List.ElementRelationship == "associative" && len(m.List.Keys) > 0:
		r.list, r.keys = "map", strings.Join(m.List.Keys, ",")
	case m.List != nil && m.List.ElementRelationship == "associative":
		r.list = "set"
	case m.List != nil:
		r.list = "atomic"
	case m.Map != nil:
		relationship = m.Map.ElementRelationship
	}
	switch relationship {
	case "atomic":
		r.mapping = "atomic"
	case "separable":
		r.mapping = "granular"
	}
	return r
}

// clientGoSchema is the text of the schema, a variable of an internal package.
func clientGoSchema() (string, error) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "k8s.io/client-go/applyconfigurations/internal").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "internal.go"), nil, 0)
	if err != nil {
		return "", err
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == "schemaYAML" {
			ast.Inspect(spec, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, err = strconv.Unquote(literal.Value)
				}
				return true
			})
		}
		return true
	})
	if text == "" && err == nil {
		err = fmt.Errorf("%s has no schemaYAML", dir)
	}
	return text, err
}
