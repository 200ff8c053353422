package daemon

import (
	"cmp"

	"github.com/garita-dev/garita/approvals/classify"
	"github.com/garita-dev/garita/approvals/policy"
	"github.com/garita-dev/garita/daemon/api"
)

// What the command line says of policies without a running daemon.

// PolicySchema is the JSON Schema of policy.yaml.
func PolicySchema() []byte { return policy.Schema() }

// CheckPolicy says what is wrong with a policy file, and what may not be meant.
func CheckPolicy(file string, data []byte) api.PolicyCheck {
	p, err := policy.Parse(file, data)
	return api.PolicyCheck{
		File: file, OK: err == nil, Rules: apiRules(p.Rules), Problems: apiProblems(file, err), Warnings: apiWarnings(policy.Review(p)),
	}
}

// TryPolicy decides a file of cases by a policy. A case that names no class is judged as a tool of
// that name would be, with its arguments, and by what we know of a server that has a known one's name.
func TryPolicy(file string, data []byte, casesFile string, casesData []byte) (api.PolicyTest, error) {
	p, err := policy.Parse(file, data)
	if err != nil {
		return api.PolicyTest{}, err
	}
	cases, err := policy.ParseCases(casesFile, casesData)
	if err != nil {
		return api.PolicyTest{}, err
	}
	for i := range cases {
		c := &cases[i].Call
		if c.Class == "" {
			v := profiles().Named(string(c.Server)).Prepare(classify.Definition{Name: c.Tool}).Call(c.Arguments)
			c.Class, c.ClassWhy = v.Class, v.Why
			if c.Sensitive == "" {
				c.Sensitive = v.Sensitive
			}
		}
	}
	out := api.PolicyTest{Policy: file, File: casesFile, OK: true, Cases: []api.PolicyCase{}}
	for _, v := range policy.Try(p, cases) {
		out.OK = out.OK && v.Wrong == ""
		out.Cases = append(out.Cases, api.PolicyCase{
			Name: v.Name, Line: v.Line, Server: string(v.Call.Server), Tool: v.Call.Tool, Class: string(cmp.Or(v.Got.Class, v.Call.Class)),
			Expect: string(v.Expect), Got: string(v.Got.Effect), By: v.Got.Rule, Reason: v.Got.Reason, Wrong: v.Wrong,
		})
	}
	return out, nil
}
