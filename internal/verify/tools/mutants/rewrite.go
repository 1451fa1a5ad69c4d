package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// mutant is one change of the program.
type mutant struct {
	id int
	// at is where the operator is.
	at token.Position
	// change says what becomes of it, line is the line of code.
	change, line string
	result       result
	// first and last are the lines of the expression or statement that is rewritten.
	first, last int
}

// edit replaces the text between two positions.
type edit struct {
	from, to token.Pos
	text     string
}

// rewriter rewrites a file so that a number that is read at start selects the active mutant.
// It never adds or removes a line, so that a position means the same before and after.
type rewriter struct {
	fset *token.FileSet
	info *types.Info
	src  []byte
	// skip reports whether a line has no mutants.
	skip func(line int) bool
	// next is the number of the next mutant. 0 is none: -1 is active when no mutant is.
	next int

	file         *token.File
	stack        []ast.Node
	edits        []edit // in the order of their positions
	mutants      []*mutant
	inexpressive int // mutants that cannot be selected while the program runs
}

// inverse has the operator that each arithmetic operator becomes.
var inverse = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
	token.LAND: token.LOR, token.LOR: token.LAND,
}

// complement and boundary have the operators that a comparison becomes.
var (
	complement = map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	}
	boundary = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
)

// assigned has the operator of each assignment with one.
var assigned = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO, token.REM_ASSIGN: token.REM,
	token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR, token.AND_NOT_ASSIGN: token.AND_NOT,
	token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR,
}

// helper has the name of the function that stands for an operator. See helpers.
var helper = map[token.Token]string{
	token.ADD: "Add", token.SUB: "Sub", token.MUL: "Mul", token.QUO: "Quo", token.REM: "Rem", token.AND: "And", token.OR: "Or", token.XOR: "Xor",
	token.AND_NOT: "AndNot", token.SHL: "Shl", token.SHR: "Shr", token.LSS: "Lss", token.LEQ: "Leq", token.GTR: "Gtr", token.GEQ: "Geq",
}

// rewrite returns the text of the file with its mutants.
func (r *rewriter) rewrite(f *ast.File) string {
	r.file = r.fset.File(f.FileStart)
	ast.Inspect(f, func(n ast.Node) bool {
		if n != nil {
			r.stack = append(r.stack, n)
			return true
		}
		n = r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		r.leave(n)
		return true
	})
	return r.text(f.FileStart, f.FileEnd)
}

// leave rewrites a node after its children.
func (r *rewriter) leave(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		r.binary(n)
	case *ast.UnaryExpr:
		if n.Op != token.SUB || r.constant(n) {
			return
		}
		if id := r.add(n, n.OpPos, "-x becomes x"); id != 0 {
			r.replace(n, fmt.Sprintf("mutantsNeg(%d, %s)", id, r.text(n.X.Pos(), n.X.End())))
		}
	case *ast.IncDecStmt:
		other, op := token.DEC, "+="
		if n.Tok == token.DEC {
			other, op = token.INC, "-="
		}
		if r.impure(n.X, n.TokPos) {
			return
		}
		if id := r.add(n, n.TokPos, becomes(n.Tok, other)); id != 0 {
			x := r.text(n.X.Pos(), n.X.End())
			r.replace(n, fmt.Sprintf("%s %s mutantsStep(%d, %s)", x, op, id, x))
		}
	case *ast.AssignStmt:
		if op, ok := assigned[n.Tok]; ok {
			r.assignment(n, op)
		}
	case *ast.BranchStmt:
		r.branch(n)
	case *ast.FuncDecl:
		r.end(n.Type, n.Body)
	case *ast.FuncLit:
		r.end(n.Type, n.Body)
	}
}

func (r *rewriter) binary(n *ast.BinaryExpr) {
	_, arithmetic := inverse[n.Op]
	if t := r.info.Types[n]; t.IsType() || !arithmetic && complement[n.Op] == 0 || isString(t.Type) || r.constant(n) {
		return // a type is a union in a constraint
	}
	x, y := r.text(n.X.Pos(), n.X.End()), r.text(n.Y.Pos(), n.Y.End())
	before, after := r.text(n.X.End(), n.OpPos), r.text(n.OpPos+token.Pos(len(n.Op.String())), n.Y.Pos())
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		// By De Morgan's law, so that the right side still is evaluated only if it counts.
		if id := r.add(n, n.OpPos, becomes(n.Op, inverse[n.Op])); id != 0 {
			on := fmt.Sprintf("!= mutantsOn(%d)", id)
			r.replace(n, fmt.Sprintf("((((%s) %s)%s%s%s((%s) %s)) %s)", x, on, before, n.Op, after, y, on, on))
		}
	case arithmetic:
		if basic, ok := r.info.TypeOf(n.X).(*types.Basic); ok && r.info.Types[n.X].Value != nil && (n.Op == token.SHL || n.Op == token.SHR) {
			x = basic.Name() + "(" + x + ")"
		}
		if id := r.add(n, n.OpPos, becomes(n.Op, inverse[n.Op])); id != 0 {
			r.replace(n, fmt.Sprintf("mutants%s(%d, 0, %s%s,%s%s)", helper[n.Op], id, x, before, after, y))
		}
	default:
		text := r.text(n.Pos(), n.End())
		if other, ok := boundary[n.Op]; ok {
			if id := r.add(n, n.OpPos, becomes(n.Op, other)); id != 0 {
				text = fmt.Sprintf("mutants%s(%d, %s%s,%s%s)", helper[n.Op], id, x, before, after, y)
			}
		}
		if id := r.add(n, n.OpPos, becomes(n.Op, complement[n.Op])); id != 0 {
			r.replace(n, fmt.Sprintf("((%s) != mutantsOn(%d))", text, id))
		}
	}
}

func (r *rewriter) assignment(n *ast.AssignStmt, op token.Token) {
	if r.impure(n.Lhs[0], n.TokPos) {
		return
	}
	inverted, name := 0, "Concat"
	if !isString(r.info.TypeOf(n.Lhs[0])) {
		name = helper[op]
		inverted = r.add(n, n.TokPos, becomes(n.Tok, token.Token(int(n.Tok)-int(op)+int(inverse[op]))))
	}
	if removed := r.add(n, n.TokPos, becomes(n.Tok, token.ASSIGN)); removed != 0 {
		x := r.text(n.Lhs[0].Pos(), n.Lhs[0].End())
		after := r.text(n.TokPos+token.Pos(len(n.Tok.String())), n.End())
		r.replace(n, fmt.Sprintf("%s = mutants%s(%d, %d, %s,%s)", x, name, inverted, removed, x, after))
	}
}

func (r *rewriter) branch(n *ast.BranchStmt) {
	other := token.CONTINUE
	switch n.Tok {
	case token.CONTINUE:
		other = token.BREAK
	case token.BREAK:
		if !r.inLoop(n.Label) {
			r.inexpressive++
			return
		}
	default:
		return
	}
	if id := r.add(n, n.TokPos, becomes(n.Tok, other)); id != 0 {
		text := r.text(n.Pos(), n.End())
		r.replace(n, fmt.Sprintf("if mutantsOn(%d) { %s }; %s", id, strings.Replace(text, n.Tok.String(), other.String(), 1), text))
	}
}

// inLoop reports whether a continue statement is possible where the rewriter is.
func (r *rewriter) inLoop(label *ast.Ident) bool {
	for i := len(r.stack) - 1; i >= 0; i-- {
		switch r.stack[i].(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		case *ast.ForStmt, *ast.RangeStmt:
			named, ok := r.stack[i-1].(*ast.LabeledStmt)
			if label == nil || ok && named.Label.Name == label.Name {
				return true
			}
		}
	}
	return false
}

// end adds a panic to the end of a function that has results: an endless loop needs no
// return statement, and its mutant has a way out.
func (r *rewriter) end(t *ast.FuncType, body *ast.BlockStmt) {
	if t.Results == nil || body == nil || len(body.List) == 0 {
		return
	}
	if _, ok := body.List[len(body.List)-1].(*ast.ReturnStmt); !ok {
		r.edits = append(r.edits, edit{body.Rbrace, body.Rbrace, `; panic("a mutant left the loop")`})
	}
}

// add adds a mutant and returns its number, or 0 if the line has none.
func (r *rewriter) add(n ast.Node, operator token.Pos, change string) int {
	at := r.fset.Position(operator)
	if r.skip(at.Line) {
		return 0
	}
	start := r.file.Offset(r.file.LineStart(at.Line))
	line, _, _ := strings.Cut(string(r.src[start:]), "\n")
	r.mutants = append(r.mutants, &mutant{
		id: r.next, at: at, change: change, line: strings.TrimSpace(line),
		first: r.fset.Position(n.Pos()).Line, last: r.fset.Position(n.End()).Line,
	})
	r.next++
	return r.next - 1
}

// constant reports whether an expression is a constant, which nothing can change at run time.
func (r *rewriter) constant(e ast.Expr) bool {
	if r.info.Types[e].Value == nil {
		return false
	}
	if !r.skip(r.fset.Position(e.Pos()).Line) {
		r.inexpressive++
	}
	return true
}

// impure reports whether it makes a difference if an operand is evaluated twice.
func (r *rewriter) impure(e ast.Expr, operator token.Pos) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return true
	})
	if found && !r.skip(r.fset.Position(operator).Line) {
		r.inexpressive++
	}
	return found
}

// text returns the text between two positions as it is rewritten so far.
func (r *rewriter) text(from, to token.Pos) string {
	var b strings.Builder
	at := from
	for _, e := range r.edits {
		if e.from >= from && e.to <= to {
			b.Write(r.src[r.file.Offset(at):r.file.Offset(e.from)])
			b.WriteString(e.text)
			at = e.to
		}
	}
	b.Write(r.src[r.file.Offset(at):r.file.Offset(to)])
	return b.String()
}

// replace replaces a node. The edits of its children are part of the text.
func (r *rewriter) replace(n ast.Node, text string) {
	for len(r.edits) > 0 && r.edits[len(r.edits)-1].from >= n.Pos() {
		r.edits = r.edits[:len(r.edits)-1]
	}
	r.edits = append(r.edits, edit{n.Pos(), n.End(), text})
}

func becomes(from, to token.Token) string { return from.String() + " becomes " + to.String() }

func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// helpers returns the file that a rewritten package has in addition. The process records
// the mutants that it reaches in a file, if there is one: a byte for each.
func helpers(name string) string {
	var b strings.Builder
	b.WriteString("package " + name + `

import (
	"cmp"
	"os"
	"strconv"
	"syscall"
)

var mutantsActive, mutantsReached = mutantsStart()

func mutantsStart() (int, []byte) {
	var reached []byte
	if f, err := os.OpenFile(os.Getenv("MUTANTS_REACHED"), os.O_RDWR, 0); err == nil {
		info, _ := f.Stat()
		if reached, err = syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err != nil {
			panic(err)
		}
		f.Close()
	}
	active, err := strconv.Atoi(os.Getenv("MUTANTS_ACTIVE"))
	if err != nil {
		active = -1
	}
	return active, reached
}

func mutantsOn(id int) bool {
	if mutantsReached != nil {
		mutantsReached[id] = 1
	}
	return id == mutantsActive
}

type mutantsInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutantsNumber interface{ mutantsInteger | ~float32 | ~float64 }

func mutantsNeg[T mutantsNumber](id int, x T) T {
	if mutantsOn(id) {
		return x
	}
	return -x
}

func mutantsStep[T mutantsNumber](id int, _ T) T {
	one := T(1)
	if mutantsOn(id) {
		return -one
	}
	return one
}

func mutantsConcat[T ~string](_, removed int, x, y T) T {
	if mutantsOn(removed) {
		return y
	}
	return x + y
}
`)
	for op, name := range helper {
		other, comparison := boundary[op]
		if comparison {
			fmt.Fprintf(&b, "\nfunc mutants%s[T cmp.Ordered](id int, x, y T) bool {\n\tif mutantsOn(id) {\n\t\treturn x %s y\n\t}\n\treturn x %s y\n}\n", name, other, op)
			continue
		}
		parameters, operands := "[T mutantsInteger](inverted, removed int, x, y T)", "y"
		switch op {
		case token.ADD, token.SUB, token.MUL, token.QUO:
			parameters = "[T mutantsNumber](inverted, removed int, x, y T)"
		case token.SHL, token.SHR:
			parameters, operands = "[T, S mutantsInteger](inverted, removed int, x T, y S)", "T(y)"
		}
		fmt.Fprintf(&b, "\nfunc mutants%s%s T {\n\tswitch {\n\tcase mutantsOn(inverted):\n\t\treturn x %s y\n\tcase mutantsOn(removed):\n\t\treturn %s\n\t}\n\treturn x %s y\n}\n",
			name, parameters, inverse[op], operands, op)
	}
	return b.String()
}
