package object

import "strings"

// dotted are the groups with a dot that every API server has. No CustomResourceDefinition can be missing for them.
const dotted = " admissionregistration apiextensions apiregistration authentication authorization certificates coordination discovery events " +
	"flowcontrol.apiserver internal.apiserver networking node rbac.authorization resource scheduling storage storagemigration "

// BuiltIn reports whether an API group belongs to Kubernetes itself, as far as a definition has a dot in its group.
func BuiltIn(group string) bool {
	name, ok := strings.CutSuffix(group, ".k8s.io")
	return !strings.Contains(group, ".") || ok && strings.Contains(dotted, " "+name+" ")
}
