package engine

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/containerd/containerd/v2/client"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// startBurst is how long a new sandbox may use every processor. Programs load and compile on
// several threads while they start, and the person waits: held to one processor, node with a
// typical server takes a fifth longer.
const startBurst = 5 * time.Second

// letBurst takes the bound of processor time out of a specification, to be put back by endBurst;
// nil when there is none, or none that the start would notice.
func letBurst(r *specs.LinuxResources) *specs.LinuxCPU {
	bound := r.CPU
	if bound == nil || bound.Quota == nil || bound.Period == nil {
		return nil
	}
	all := int64(runtime.NumCPU()) * int64(*bound.Period)
	if *bound.Quota >= all {
		return nil
	}
	r.CPU = &specs.LinuxCPU{Quota: &all, Period: bound.Period}
	return bound
}

// endBurst puts the bound in force once the start is over. A sandbox that cannot be bounded says so.
func (b *box) endBurst(bound *specs.LinuxCPU) {
	if bound == nil {
		return
	}
	over := make(chan struct{})
	timer := time.AfterFunc(startBurst, func() {
		defer close(over)
		b.bound(bound)
	})
	b.onUndo(func() error {
		if !timer.Stop() {
			<-over
		}
		return nil
	})
}

func (b *box) bound(cpu *specs.LinuxCPU) {
	ctx, cancel := cleanup(context.Background())
	defer cancel()
	err := b.task.Update(ctx, client.WithResources(&specs.LinuxResources{CPU: cpu}))
	if err != nil && !isNotFound(err) {
		slog.Warn("bound a sandbox's processor time", "server", b.launch.Server, "err", err)
		b.notice("Its processor time could not be limited.")
	}
}
