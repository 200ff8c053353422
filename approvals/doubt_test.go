package approvals

import (
	"strings"
	"testing"
	"time"
)

func TestAResultThatReadsLikeInstructionsMakesTheNextWriteAsk(t *testing.T) {
	c := Call{Tool: "write_file", Pin: "sha256:p", Class: Write, Doubt: "A result of fetch reads like instructions to the agent"}
	everything := grants(func(Call) Coverage { return Coverage{Grants: "g1", Words: "everything"} })
	if d := Evaluate(c, Standing{}, Policy{}, everything, time.Now()); d.Effect != Ask || !strings.Contains(d.Reason, "reads like instructions") {
		t.Errorf("got %+v", d)
	}
	c.Class = Read
	if d := Evaluate(c, Standing{}, Policy{}, everything, time.Now()); d.Effect != Allow {
		t.Errorf("a read: got %+v", d)
	}
	c.Class, c.Doubt = Write, ""
	if d := Evaluate(c, Standing{}, Policy{}, everything, time.Now()); d.Effect != Allow {
		t.Errorf("without a doubt: got %+v", d)
	}
}

type grants func(Call) Coverage

func (g grants) Cover(c Call, _ time.Time) Coverage { return g(c) }
