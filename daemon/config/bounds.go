package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// rateUnits are what "/" may be followed by.
var rateUnits = map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}

// parseRate reads "120/min".
func parseRate(s string) (sandbox.Rate, error) {
	number, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	per, known := rateUnits[strings.TrimSpace(unit)]
	if err != nil || n < 1 || n > 1_000_000 || !known {
		return sandbox.Rate{}, fmt.Errorf("rate %q: want a number and a unit (s, min, h), such as 120/min: %w", s, errdefs.ErrInvalidArgument)
	}
	return sandbox.Rate{Count: n, Per: per}, nil
}

// parseProtocol reads one revision; "" and auto are none.
func parseProtocol(s string) (string, error) {
	if s == "" || s == "auto" {
		return "", nil
	}
	if protocol.Revision(s).Era() == protocol.Unknown {
		return "", fmt.Errorf("protocol %q: want auto or a revision of MCP, such as %s", s, protocol.V20251125)
	}
	return s, nil
}

// maxInstances bounds limits.instances: more than this is no limit.
const maxInstances = 32

func (l declaredLimits) lower() (out sandbox.Limits, err error) {
	if l.Memory != "" {
		if out.Memory, err = parseSize(l.Memory); err != nil {
			return out, fmt.Errorf("limits: memory: %w", err)
		}
	}
	if l.PIDs < 0 || !(l.CPUs >= 0 && l.CPUs <= 4096) {
		return out, fmt.Errorf("limits: pids and cpus are counts of processes and of cores")
	}
	out.PIDs, out.CPUs = l.PIDs, l.CPUs
	if l.Calls != "" {
		if out.Calls, err = parseRate(l.Calls); err != nil {
			return out, fmt.Errorf("limits: calls: %w", err)
		}
	}
	if l.Instances < 0 || l.Instances > maxInstances {
		return out, fmt.Errorf("limits: instances: want 1 to %d", maxInstances)
	}
	out.Instances = l.Instances
	return out, nil
}

func (l declaredLifecycle) lower() (out sandbox.Lifecycle, err error) {
	for _, t := range []struct {
		key, written string
		to           *time.Duration
	}{
		{"idle", l.Idle, &out.Idle}, {"freeze", l.Freeze, &out.Freeze}, {"hard", l.Hard, &out.Hard}, {"call", l.Call, &out.Call}, {"start", l.Start, &out.Start},
	} {
		if t.written == "" {
			continue
		}
		if *t.to, err = parseDuration(t.written); err != nil {
			return out, fmt.Errorf("lifecycle: %s: %w", t.key, err)
		}
	}
	return out, nil
}

// lower is what a server may not ask of its client, and what it may that others may not.
func (r declaredRequests) lower() (deny, allow []sandbox.ServerRequest, err error) {
	if deny, err = serverRequests(r.Deny); err != nil {
		return nil, nil, err
	}
	if allow, err = serverRequests(r.Allow); err != nil {
		return nil, nil, err
	}
	for _, a := range allow {
		if a != sandbox.Sampling {
			return nil, nil, fmt.Errorf("requests: allow: %q is allowed where it is not denied; only sampling needs it", a)
		}
		if slices.Contains(deny, a) {
			return nil, nil, fmt.Errorf("requests: %q is both allowed and denied", a)
		}
	}
	return deny, allow, nil
}

func serverRequests(names []string) ([]sandbox.ServerRequest, error) {
	var out []sandbox.ServerRequest
	for _, name := range names {
		asked := sandbox.ServerRequest(name)
		if !slices.Contains(sandbox.ServerRequests, asked) {
			return nil, fmt.Errorf("requests: %q: want sampling, elicitation or roots", name)
		}
		out = append(out, asked)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
