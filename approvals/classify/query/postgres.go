package query

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/garita-dev/garita/approvals"
)

// postgres judges text by PostgreSQL's own grammar. ok is false where that cannot read it.
func postgres(text string) (v Verdict, ok bool) {
	tree, err := pg.Parse(text)
	if err != nil || len(tree.Stmts) == 0 {
		return Verdict{}, false
	}
	f := &found{Verdict{Class: approvals.Read, Why: "Its SQL only reads."}}
	for _, s := range tree.Stmts {
		f.tree(s.ProtoReflect())
	}
	if len(tree.Stmts) == 1 {
		f.Summary = summary(tree.Stmts[0].Stmt)
	}
	return f.Verdict, true
}

// tree looks at a node and all that hangs from it: what writes may hide anywhere in a query.
func (f *found) tree(m protoreflect.Message) {
	f.node(m)
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case d.Kind() != protoreflect.MessageKind:
		case d.IsList():
			for i := range v.List().Len() {
				f.tree(v.List().Get(i).Message())
			}
		default:
			f.tree(v.Message())
		}
		return true
	})
}

// node looks at one node. A kind of statement that is not named here is no read.
func (f *found) node(m protoreflect.Message) {
	switch n := m.Interface().(type) {
	case *pg.RawStmt, *pg.SelectStmt, *pg.ExplainStmt, *pg.VariableShowStmt:
	case *pg.IntoClause:
		f.is(approvals.Write, "It stores what it selects in a table.")
	case *pg.LockingClause:
		f.is(approvals.Write, "It locks the rows it selects.")
	case *pg.FuncCall:
		f.function(n)
	case *pg.ResTarget:
		f.named(n.Name)
	case *pg.Alias:
		f.named(n.Aliasname)
	case *pg.RangeVar:
		f.reads(n.Schemaname, n.Relname)
	case *pg.A_Expr:
		if len(n.Name) > 1 {
			f.is(approvals.Execute, "It uses an operator of its own.")
		}
	case *pg.InsertStmt:
		if n.OnConflictClause != nil && n.OnConflictClause.Action == pg.OnConflictAction_ONCONFLICT_UPDATE {
			f.is(approvals.Destroy, "It overwrites rows that are there.")
		}
		f.is(approvals.Write, "It inserts rows.")
	case *pg.CopyStmt:
		f.copies(n)
	default:
		f.statement(string(m.Descriptor().Name()))
	}
}

// function notes a call. Only PostgreSQL's own functions, and those without a schema, are known.
func (f *found) function(n *pg.FuncCall) {
	var parts []string
	for _, p := range n.Funcname {
		parts = append(parts, p.GetString_().GetSval())
	}
	if len(parts) == 2 && parts[0] == "pg_catalog" {
		parts = parts[1:]
	}
	f.calls(strings.Join(parts, "."))
}

func (f *found) copies(n *pg.CopyStmt) {
	switch {
	case n.IsProgram:
		f.is(approvals.Execute, "It runs a program of the database's host.")
	case n.Filename != "":
		f.is(approvals.Destroy, "It reads or writes a file of the database's host.")
	default:
		f.is(approvals.Write, "It copies rows.")
	}
}

// Kinds of statements by what they do; every other kind writes.
var (
	executing = set(`DoStmt CallStmt LoadStmt CreateFunctionStmt CreateExtensionStmt AlterExtensionStmt CreatePLangStmt
		CreateTrigStmt CreateEventTrigStmt RuleStmt ExecuteStmt PrepareStmt AlterSystemStmt CreateFdwStmt
		CreateForeignServerStmt CreateForeignTableStmt CreateSubscriptionStmt ImportForeignSchemaStmt`)
	destroying = set(`DeleteStmt UpdateStmt MergeStmt DropStmt TruncateStmt DropdbStmt DropRoleStmt DropOwnedStmt
		DropTableSpaceStmt DropUserMappingStmt DropSubscriptionStmt GrantStmt GrantRoleStmt CreateRoleStmt AlterRoleStmt
		AlterRoleSetStmt AlterDefaultPrivilegesStmt CreatePolicyStmt AlterPolicyStmt AlterTableStmt ReassignOwnedStmt
		AlterOwnerStmt CreateUserMappingStmt AlterUserMappingStmt AlterDatabaseStmt AlterDatabaseSetStmt ViewStmt`)
)

func (f *found) statement(kind string) {
	if !strings.HasSuffix(kind, "Stmt") {
		return
	}
	does := "It is no query (" + strings.TrimSuffix(kind, "Stmt") + ")."
	switch {
	case executing[kind]:
		f.is(approvals.Execute, does)
	case destroying[kind]:
		f.is(approvals.Destroy, does)
	default:
		f.is(approvals.Write, does)
	}
}

// summary tells a statement that changes rows in a few words.
func summary(n *pg.Node) string {
	switch s := n.GetNode().(type) {
	case *pg.Node_DeleteStmt:
		return rows("delete", s.DeleteStmt.WhereClause != nil) + " from " + s.DeleteStmt.Relation.GetRelname()
	case *pg.Node_UpdateStmt:
		return rows("change", s.UpdateStmt.WhereClause != nil) + " of " + s.UpdateStmt.Relation.GetRelname()
	case *pg.Node_InsertStmt:
		return "insert rows into " + s.InsertStmt.Relation.GetRelname()
	case *pg.Node_TruncateStmt:
		if len(s.TruncateStmt.Relations) == 1 {
			return "delete every row of " + s.TruncateStmt.Relations[0].GetRangeVar().GetRelname()
		}
	}
	return ""
}

func rows(verb string, where bool) string {
	if where {
		return verb + " some rows"
	}
	return verb + " every row"
}
