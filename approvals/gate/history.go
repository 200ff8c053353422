package gate

import "github.com/garita-dev/garita/approvals"

// remembered is how many ended questions are kept with their arguments, for the person who still
// looks at one, and so that the same answer given twice is no error.
const remembered = 64

// history is the last questions that ended.
type history struct {
	last [remembered]approvals.Request
	next int
}

// rememberedArguments is how long arguments are kept for that, in bytes; longer ones are in the log,
// shortened.
const rememberedArguments = 64 << 10

func (h *history) add(r approvals.Request) {
	if len(r.Call.Arguments)+len(r.Call.Input)+len(r.Call.State) > rememberedArguments {
		return
	}
	h.last[h.next%remembered] = r
	h.next++
}

func (h *history) find(id approvals.RequestID) (approvals.Request, bool) {
	for _, r := range h.last {
		if r.ID == id && id != "" {
			return r, true
		}
	}
	return approvals.Request{}, false
}

// all is what is kept, the oldest first.
func (h *history) all() []approvals.Request {
	var list []approvals.Request
	for i := range remembered {
		if r := h.last[(h.next+i)%remembered]; r.ID != "" {
			list = append(list, r)
		}
	}
	return list
}
