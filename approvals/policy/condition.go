package policy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"golang.org/x/net/idna"

	"github.com/garita-dev/garita/approvals"
)

// Bounds of one condition. What would cost more is not told, and so never helps a call.
const (
	maxExpression = 4 << 10 // bytes
	maxCost       = 1 << 20 // CEL's units, about one a step and one for every ten bytes of text looked at
	maxMemory     = 64 << 20
	maxArguments  = 1 << 20 // bytes of arguments that a condition looks into
	mostTime      = 100 * time.Millisecond
)

// conditions are what a rule asks beyond names; all that are set must hold.
type conditions struct {
	cel   *expression
	hours []span
	days  []string
	zone  *time.Location // what hours and days are meant in; nil is the machine's
}

func (c conditions) empty() bool { return c.cel == nil && len(c.hours) == 0 && len(c.days) == 0 }

// Holds implements approvals.Condition. The expression is looked at last: at another hour it does
// not matter that it could not be told.
func (c conditions) Holds(call approvals.Call, now time.Time) (bool, error) {
	zone := c.zone
	if zone == nil {
		zone = time.Local
	}
	now = now.In(zone)
	if !inHours(c.hours, now) || !onDay(c.days, now) {
		return false, nil
	}
	if c.cel == nil {
		return true, nil
	}
	return c.cel.holds(call, now)
}

// String implements approvals.Condition.
func (c conditions) String() string {
	var parts []string
	if c.cel != nil {
		parts = append(parts, c.cel.text)
	}
	for i, h := range c.hours {
		parts = append(parts, map[bool]string{true: "between ", false: "or between "}[i == 0]+h.text)
	}
	if len(c.days) > 0 {
		parts = append(parts, "on "+strings.Join(c.days, ", "))
	}
	return strings.Join(parts, ", ")
}

// expression is a compiled CEL expression. Its use may overlap.
type expression struct {
	text    string
	program cel.Program
}

func (r *reader) expression(e entry) *expression {
	s, ok := r.scalar(e, e.value)
	if !ok {
		return nil
	}
	x, err := compile(s)
	if err != nil {
		r.bad(e.at, "when cannot be read", err.Error(), "the variables are args, class, server, tool, agent, workspace, mode, sensitive and now; "+
			"it must come out as true or false")
		return nil
	}
	return x
}

// environment is made when the first condition is read: most people have none.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("class", cel.StringType),
		cel.Variable("server", cel.StringType),
		cel.Variable("tool", cel.StringType),
		cel.Variable("agent", cel.StringType),
		cel.Variable("workspace", cel.StringType),
		cel.Variable("mode", cel.StringType),
		cel.Variable("sensitive", cel.BoolType),
		cel.Variable("now", cel.TimestampType),
		cel.Function("inside", cel.Overload("inside_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(func(p, dir ref.Val) ref.Val { return withTexts(p, dir, inside) }))),
		cel.Function("host", cel.Overload("host_string", []*cel.Type{cel.StringType}, cel.StringType, cel.UnaryBinding(host))),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(100),
		cel.ExpressionNestingDepthLimit(100),
		cel.RegexProgramSizeLimit(5000),
	)
})

func compile(text string) (*expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("it is longer than %d bytes", maxExpression)
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, errors.New(firstIssue(issues))
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it comes out as a %s, not as true or false", t)
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.MemoryLimit(maxMemory), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, err
	}
	return &expression{text, program}, nil
}

// firstIssue is what CEL says first, without its drawing of the place.
func firstIssue(issues *cel.Issues) string {
	for _, e := range issues.Errors() {
		return fmt.Sprintf("at character %d: %s", e.Location.Column()+1, clipLines(e.Message))
	}
	return "it is no CEL expression"
}

func clipLines(s string) string {
	return clip(strings.Join(strings.Fields(s), " "))
}

// holds evaluates x about a call. Anything but true and false is an error.
func (x *expression) holds(c approvals.Call, now time.Time) (bool, error) {
	args, err := arguments(c.Arguments)
	if err != nil {
		return false, fmt.Errorf("look at the arguments: %w", err)
	}
	names := c.Principal.Names()
	ctx, cancel := context.WithTimeout(context.Background(), mostTime)
	defer cancel()
	out, _, err := x.program.ContextEval(ctx, map[string]any{
		"args": args, "class": string(c.Class), "server": string(c.Server), "tool": c.Tool, "agent": names[len(names)-1],
		"workspace": string(c.Workspace), "mode": string(c.Mode), "sensitive": c.Sensitive != "", "now": now,
	})
	if err != nil {
		return false, errors.New(clipLines(err.Error()))
	}
	yes, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("it came out as a %s, not as true or false", out.Type().TypeName())
	}
	return bool(yes), nil
}

func withTexts(a, b ref.Val, f func(a, b string) ref.Val) ref.Val {
	x, okA := a.(types.String)
	y, okB := b.(types.String)
	if !okA || !okB {
		return types.NewErr("no such overload")
	}
	return f(string(x), string(y))
}

// inside says whether a path names dir or something below it. Paths are compared as text: one that
// is relative or climbs with ".." cannot be told.
func inside(p, dir string) ref.Val {
	for _, s := range []string{p, dir} {
		if !path.IsAbs(s) || strings.Contains("/"+s+"/", "/../") || strings.ContainsRune(s, 0) {
			return types.NewErr("inside: %q is not a full path without ..", clip(s))
		}
	}
	p, dir = path.Clean(p), path.Clean(dir)
	return types.Bool(p == dir || dir == "/" || strings.HasPrefix(p, dir+"/"))
}

// lookedUp writes a name as it is asked for; underscores, which the strict rules forbid, are in use.
var lookedUp = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// host is the host of a URL as it is looked up: in lower case, without user and port, and in ASCII,
// so that ｅxample.com is example.com.
func host(v ref.Val) ref.Val {
	s, ok := v.(types.String)
	if !ok {
		return types.NewErr("no such overload")
	}
	u, err := url.Parse(string(s))
	if err != nil || u.Hostname() == "" || strings.ContainsAny(string(s), "\\\t\r\n") {
		return types.NewErr("host: no URL with a host")
	}
	name, err := lookedUp.ToASCII(u.Hostname())
	if _, notAddress := netip.ParseAddr(u.Hostname()); notAddress == nil {
		name, err = u.Hostname(), nil
	}
	if err != nil {
		return types.NewErr("host: %q is no host that can be looked up", clip(u.Hostname()))
	}
	return types.String(strings.TrimSuffix(strings.ToLower(name), "."))
}
