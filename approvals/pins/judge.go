package pins

import (
	"github.com/garita-dev/garita/approvals"
)

// Verdict is what follows for an item.
type Verdict struct {
	Held  string // why it does not exist for clients, one clause without a word of the server's; "" when it does
	Pin   approvals.Pin
	New   bool // it has no pin
	Drift approvals.Drift
	// Accept says that it is accepted by itself: at first use, as a cosmetic change, as data.
	Accept   string // how, for the record; "" when there is nothing to accept
	Findings []approvals.PinFinding
}

// Judge compares an item with its pin, nil where it has none. now is what it is, found what Scan finds in
// it, before what it found in the pin's definition; first says that the server is being seen for the first
// time. A cosmetic change leaves the pin as it is: many of them do not add up to another text unseen.
func Judge(pin *approvals.Pin, now approvals.Pin, found, before []approvals.PinFinding, first bool) Verdict {
	v := Verdict{Pin: now, Findings: found, New: pin == nil}
	switch {
	case pin != nil && pin.Digest == now.Digest:
		v.Pin = *pin
	case pin != nil:
		v.changed(*pin, before)
	case holding(found) != nil:
		v.Held = "it is new, and something was found in it: " + holding(found).Why
	case first:
		v.Accept = "first use"
	case now.Kind == approvals.ItemResource: // data, which comes and goes
		v.Accept = "new, and nothing was found in it"
	default:
		v.Held = "it is new, and nobody has seen it yet"
	}
	return v
}

func (v *Verdict) changed(pin approvals.Pin, before []approvals.PinFinding) {
	v.Drift = Compare(pin.Kind, pin.Definition, v.Pin.Definition)
	fresh := holding(added(before, v.Findings))
	switch {
	case fresh != nil:
		v.Drift.Kind = approvals.Widened
		v.Held = "its definition has changed, and something was found in it: " + fresh.Why
	case v.Drift.Kind == approvals.Cosmetic || v.Drift.Kind == approvals.NoDrift:
		v.Pin, v.Accept = pin, "cosmetic change"
	default:
		v.Held = "its definition has changed since it was accepted"
		if v.Drift.Kind == approvals.Widened {
			v.Held += ", to let through or to claim more"
		}
	}
}

// holding is the first finding that a person has to see; nil when there is none.
func holding(found []approvals.PinFinding) *approvals.PinFinding {
	for i := range found {
		if found[i].Holds {
			return &found[i]
		}
	}
	return nil
}

// added is the findings that were not there before.
func added(before, now []approvals.PinFinding) []approvals.PinFinding {
	var out []approvals.PinFinding
	for _, f := range now {
		if !had(before, f) {
			out = append(out, f)
		}
	}
	return out
}

func had(before []approvals.PinFinding, f approvals.PinFinding) bool {
	for _, b := range before {
		if b.Kind == f.Kind && b.Field == f.Field && b.Why == f.Why {
			return true
		}
	}
	return false
}
