package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals/pins"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
)

// updateImage is Update for a server that runs from an image: its reference is looked up anew.
func (d *Daemon) updateImage(ctx context.Context, s sandbox.Server) (api.Update, error) {
	old, err := d.updatableImage(s)
	if err != nil {
		return api.Update{}, err
	}
	digest, err := d.engine.renewedImage(ctx, old.Reference, func(p sandbox.Progress) { d.noteProgress(s.Name, p) })
	if err != nil {
		return api.Update{}, err
	}
	u := update{image: config.Image{Reference: old.Reference, Digest: digest}, shown: api.Update{
		Server: string(s.Name), From: old.Reference + "@" + string(old.Digest), To: old.Reference + "@" + string(digest),
		Packages: []api.PackageChange{}, Scripts: []string{}, Tools: []api.ToolUpdate{}, Notes: []string{},
	}}
	if digest == old.Digest {
		return u.shown, nil
	}
	after, err := d.engine.aboutImage(ctx, digest)
	if err != nil {
		return api.Update{}, err
	}
	before, err := d.engine.aboutImage(ctx, old.Digest)
	if err != nil {
		u.shown.Notes = append(u.shown.Notes, "The image in use cannot be looked at, so everything of the new one is shown as new: "+err.Error())
	}
	u.shown.Packages = imageChanges(before, after)
	d.tryAside(ctx, s, &u)
	return d.trials.show(s.Name, u), nil
}

// updatableImage is the lock's image of a server.
func (d *Daemon) updatableImage(s sandbox.Server) (config.Image, error) {
	i, ok := d.config.Image(s.Name)
	switch {
	case strings.Contains(s.Source.Image, "@"):
		return i, fmt.Errorf("update %s: servers.yaml names exactly %s; name a tag or another digest there: %w", s.Name, s.Source.Image, errdefs.ErrFailedPrecondition)
	case !ok || i.Reference != s.Source.Image:
		return i, fmt.Errorf("update %s: nothing was pulled for it yet; garita server start %s: %w", s.Name, s.Name, errdefs.ErrFailedPrecondition)
	}
	return i, nil
}

// imageChanges compares what two images say of themselves. Their words are made visible.
func imageChanges(before, after map[string]string) []api.PackageChange {
	words := slices.Collect(maps.Keys(before))
	words = slices.AppendSeq(words, maps.Keys(after))
	slices.Sort(words)
	out := []api.PackageChange{}
	for _, word := range slices.Compact(words) {
		if before[word] != after[word] {
			out = append(out, api.PackageChange{Name: pins.Visible(word), Before: pins.Visible(before[word]), After: pins.Visible(after[word])})
		}
	}
	return out
}
