package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/classify"
)

// ClassifiedTools is what Garita thinks of a server's tools before anything is configured.
type ClassifiedTools struct {
	Profile string           `json:"profile"` // the one that was used; "" for none
	Tools   []ClassifiedTool `json:"tools"`
}

// ClassifiedTool is what Garita thinks of one tool.
type ClassifiedTool struct {
	Name         string `json:"name"`
	Class        string `json:"class"`                   // read, write, destroy, execute, or depends
	Sensitive    bool   `json:"sensitive"`               // what it reads is not for everybody
	SensitiveWhy string `json:"sensitive_why,omitempty"` // one clause
	Effect       string `json:"effect"`                  // the default policy's where no arguments are known: allow or ask
	Rule         string `json:"rule"`
	Why          string `json:"why"` // one sentence
	Known        bool   `json:"known"`
	// Bare is a call without any argument, of a tool whose arguments decide.
	Bare *BareCall `json:"without_arguments,omitempty"`
}

// BareCall is what a call without arguments does and gets.
type BareCall struct {
	Class  string `json:"class"`
	Effect string `json:"effect"`
	Why    string `json:"why"`
}

// maxListing bounds a listing, in bytes.
const maxListing = 32 << 20

// ClassifyTools judges a server's answer to tools/list: the whole JSON-RPC message, its result, or
// the list itself. server names a profile, or the package, image or URL of a server that has one;
// of a server that has none, and of "", the tools are judged by their own words. Nothing needs to run.
func ClassifyTools(listing []byte, server string) (ClassifiedTools, error) {
	tools, err := listedTools(listing)
	if err != nil {
		return ClassifiedTools{}, err
	}
	profile := profiles().Named(server)
	out := ClassifiedTools{Tools: []ClassifiedTool{}}
	if profile != nil {
		out.Profile = profile.Name
	}
	for _, d := range tools {
		out.Tools = append(out.Tools, classified(d.Name, profile.Prepare(d)))
	}
	return out, nil
}

// classified is what the default policy makes of a tool.
func classified(name string, p classify.Prepared) ClassifiedTool {
	d := byDefault(p.Class, p.Why, p.Sensitive)
	t := ClassifiedTool{
		Name: name, Class: string(p.Class), Sensitive: p.Sensitive != "", SensitiveWhy: p.Sensitive,
		Effect: string(d.Effect), Rule: d.Rule, Why: d.Reason, Known: p.Profile != "",
	}
	if p.Class == approvals.Depends {
		v := p.Call(nil)
		bare := byDefault(v.Class, v.Why, v.Sensitive)
		t.Why = p.Why
		t.Bare = &BareCall{Class: string(v.Class), Effect: string(bare.Effect), Why: bare.Reason}
	}
	return t
}

// byDefault is the default policy's decision about a call that nothing else is known of.
func byDefault(class approvals.Class, why, sensitive string) approvals.Decision {
	c := approvals.Call{Server: "it", Tool: "It", Pin: "sha256:listed", Class: class, ClassWhy: why, Sensitive: sensitive}
	return approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, nil, time.Time{})
}

// listedTools reads the definitions of a listing.
func listedTools(listing []byte) ([]classify.Definition, error) {
	listing = bytes.TrimPrefix(listing, []byte("\xef\xbb\xbf"))
	if len(listing) > maxListing {
		return nil, fmt.Errorf("it is longer than %d MiB", maxListing>>20)
	}
	list, err := toolList(jsontext.Value(bytes.TrimSpace(listing)))
	if err != nil {
		return nil, err
	}
	var tools []struct {
		Name        *string        `json:"name"`
		Title       string         `json:"title"`
		Description string         `json:"description"`
		InputSchema jsontext.Value `json:"inputSchema"`
		Annotations jsontext.Value `json:"annotations"`
	}
	if err := json.Unmarshal(list, &tools); err != nil {
		return nil, fmt.Errorf("its tools cannot be read: %w", err)
	}
	defs := make([]classify.Definition, 0, len(tools))
	for i, t := range tools {
		if t.Name == nil {
			return nil, fmt.Errorf("its tool %d has no name", i+1)
		}
		defs = append(defs, classify.Definition{Name: *t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, Annotations: t.Annotations})
	}
	return defs, nil
}

// toolList finds the list of tools in a JSON-RPC answer, its result, or the list itself.
func toolList(v jsontext.Value) (jsontext.Value, error) {
	switch {
	case len(v) == 0:
		return nil, errors.New("it is empty")
	case !v.IsValid():
		return nil, errors.New("it is no JSON, or has a name twice in one object")
	case v.Kind() == '[':
		return v, nil
	case v.Kind() != '{':
		return nil, errors.New("it is neither an answer to tools/list nor a list of tools")
	}
	var answer struct {
		Result jsontext.Value `json:"result"`
		Tools  jsontext.Value `json:"tools"`
		Error  jsontext.Value `json:"error"`
	}
	if err := json.Unmarshal(v, &answer); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	switch {
	case answer.Tools.Kind() == '[':
		return answer.Tools, nil
	case answer.Result.Kind() == '{':
		return toolList(answer.Result)
	case len(answer.Error) > 0:
		return nil, errors.New("it is an error, not a list of tools")
	}
	return nil, errors.New("it holds no list named \"tools\": give the answer to tools/list, its result, or the list itself")
}
