package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// describe is the exported API of a package: its declarations by name, each type
// with what can be selected from it.
func describe(pkg *types.Package) string {
	d := &description{pkg: pkg}
	d.line("package %s // import %q", pkg.Name(), pkg.Path())
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		d.line("")
		switch object := object.(type) {
		case *types.Const:
			d.line("const %s %s = %s", name, d.text(object.Type()), object.Val().ExactString())
		case *types.Var:
			d.line("var %s %s", name, d.text(object.Type()))
		case *types.Func:
			d.line("func %s%s", name, strings.TrimPrefix(d.text(object.Type()), "func"))
		case *types.TypeName:
			d.typeName(object)
		}
	}
	return d.out.String()
}

type description struct {
	pkg *types.Package
	out strings.Builder
}

func (d *description) line(format string, args ...any) {
	fmt.Fprintf(&d.out, format+"\n", args...)
}

// text is a type as its package would write it.
func (d *description) text(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == d.pkg {
			return ""
		}
		return p.Name()
	})
}

// typeName describes a type with its fields and methods.
func (d *description) typeName(object *types.TypeName) {
	if object.IsAlias() {
		d.line("type %s = %s", object.Name(), d.text(types.Unalias(object.Type())))
		return
	}
	named := object.Type().(*types.Named)
	head := d.text(named) // with its type parameters, but not their constraints
	var parameters []string
	for p := range named.TypeParams().TypeParams() {
		parameters = append(parameters, p.Obj().Name()+" "+d.text(p.Constraint()))
	}
	if len(parameters) > 0 {
		head = object.Name() + "[" + strings.Join(parameters, ", ") + "]"
	}
	switch under := named.Underlying().(type) {
	case *types.Struct:
		d.line("type %s struct", head)
		d.fields(under)
	case *types.Interface:
		d.line("type %s interface", head)
		d.elements(under)
		return // its methods are its elements
	default:
		d.line("type %s %s", head, d.text(under))
	}
	d.methods(named)
}

// fields describes the exported fields of a struct, and whether it has others.
func (d *description) fields(s *types.Struct) {
	hidden := false
	for field := range s.Fields() {
		switch {
		case field.Embedded() && field.Exported():
			d.line("\t%s", d.text(field.Type()))
		case field.Exported():
			d.line("\t%s %s", field.Name(), d.text(field.Type()))
		default:
			hidden = true
		}
	}
	if hidden {
		d.line("\t// unexported fields")
	}
}

// elements describes the methods and embedded types of an interface.
func (d *description) elements(i *types.Interface) {
	for embedded := range i.EmbeddedTypes() {
		d.line("\t%s", d.text(embedded))
	}
	hidden := false
	for method := range i.ExplicitMethods() {
		if !method.Exported() {
			hidden = true
			continue
		}
		d.line("\t%s%s", method.Name(), strings.TrimPrefix(d.text(method.Type()), "func"))
	}
	if hidden {
		d.line("\t// unexported methods")
	}
}

// methods describes what can be called on a type or a pointer to it, promoted
// methods among them.
func (d *description) methods(named *types.Named) {
	byValue := types.NewMethodSet(named)
	all := types.NewMethodSet(types.NewPointer(named))
	var lines []string
	for selection := range all.Methods() {
		method := selection.Obj()
		if !method.Exported() {
			continue
		}
		receiver := "*" + named.Obj().Name()
		if byValue.Lookup(d.pkg, method.Name()) != nil {
			receiver = named.Obj().Name()
		}
		lines = append(lines, fmt.Sprintf("\tfunc (%s) %s%s", receiver, method.Name(), strings.TrimPrefix(d.text(selection.Type()), "func")))
	}
	slices.Sort(lines)
	for _, line := range lines {
		d.line("%s", line)
	}
}
