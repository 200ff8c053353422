package query

import (
	"fmt"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // values of literals; the parser needs one driver

	"github.com/garita-dev/garita/approvals"
)

// parsers are MySQL's; one must not be used by two at a time.
var parsers = sync.Pool{New: func() any { return parser.New() }}

// mysql judges text by MySQL's grammar. ok is false where that cannot read it.
func mysql(text string) (v Verdict, ok bool) {
	p := parsers.Get().(*parser.Parser)
	defer parsers.Put(p)
	statements, _, err := p.Parse(text, "", "")
	if err != nil || len(statements) == 0 {
		return Verdict{}, false
	}
	f := &found{Verdict{Class: approvals.Read, Why: "Its SQL only reads."}}
	for _, s := range statements {
		s.Accept(visitor{f})
	}
	return f.Verdict, true
}

// visitor looks at every node of a statement.
type visitor struct{ *found }

// Leave implements ast.Visitor.
func (visitor) Leave(n ast.Node) (ast.Node, bool) { return n, true }

// Enter implements ast.Visitor. A kind of statement that is not named here is no read.
func (v visitor) Enter(in ast.Node) (ast.Node, bool) {
	switch n := in.(type) {
	case *ast.SelectStmt:
		v.selects(n)
	case *ast.SetOprStmt, *ast.ShowStmt, *ast.ExplainStmt:
	case *ast.FuncCallExpr:
		v.calls(qualified(n.Schema.L, n.FnName.L))
	case *ast.VariableExpr:
		if n.Value != nil {
			v.is(approvals.Write, "It sets a variable.")
		}
	case *ast.SelectField:
		v.named(n.AsName.L)
	case *ast.TableSource:
		v.named(n.AsName.L)
	case *ast.TableName:
		v.reads(n.Schema.L, n.Name.L)
	case *ast.InsertStmt:
		v.inserts(n)
	case *ast.DeleteStmt, *ast.UpdateStmt, *ast.DropTableStmt, *ast.DropDatabaseStmt, *ast.TruncateTableStmt, *ast.AlterTableStmt,
		*ast.GrantStmt, *ast.GrantRoleStmt, *ast.RevokeStmt, *ast.RevokeRoleStmt, *ast.CreateUserStmt, *ast.AlterUserStmt,
		*ast.DropUserStmt, *ast.SetPwdStmt, *ast.DropIndexStmt, *ast.RenameTableStmt, *ast.KillStmt, *ast.ShutdownStmt:
		v.is(approvals.Destroy, noQuery(n))
	case *ast.CallStmt, *ast.ExecuteStmt, *ast.PrepareStmt, *ast.LoadDataStmt, *ast.DoStmt:
		v.is(approvals.Execute, noQuery(n))
	case ast.StmtNode:
		v.is(approvals.Write, noQuery(n))
	}
	return in, false
}

func (v visitor) selects(n *ast.SelectStmt) {
	if n.SelectIntoOpt != nil {
		v.is(approvals.Destroy, "It stores what it selects in a file or a variable.")
	}
	if n.LockInfo != nil && n.LockInfo.LockType != ast.SelectLockNone {
		v.is(approvals.Write, "It locks the rows it selects.")
	}
}

func (v visitor) inserts(n *ast.InsertStmt) {
	if n.IsReplace || len(n.OnDuplicate) > 0 {
		v.is(approvals.Destroy, "It overwrites rows that are there.")
	}
	v.is(approvals.Write, "It inserts rows.")
}

func qualified(schema, name string) string {
	if schema == "" {
		return name
	}
	return schema + "." + name
}

// noQuery says what kind of statement n is.
func noQuery(n ast.Node) string {
	return "It is no query (" + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast."), "Stmt") + ")."
}
