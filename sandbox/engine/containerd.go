package engine

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/cmd/containerd/server"
	srvconfig "github.com/containerd/containerd/v2/cmd/containerd/server/config"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/containerd/v2/version"
	"github.com/containerd/log"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
)

// Paths of this engine's containerd, all in the private /run.
const (
	containerdState  = "/run/containerd"
	containerdSocket = "/run/containerd/containerd.sock"
	shimSockets      = "/run/garita/s" // containerd allows at most 42 characters
	runcRoot         = "/run/garita/runc"
)

// containerdNamespace is where all of Garita's containers, snapshots and images are.
const containerdNamespace = "garita"

// containerd is the embedded daemon and a client that calls it without a socket.
type containerd struct {
	server      *server.Server
	client      *client.Client
	snapshotter string // overlayfs, or native where overlay mounts are not allowed
}

func inNamespace(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, containerdNamespace)
}

// openContainerd starts containerd with its data under root.
func openContainerd(ctx context.Context, root string) (*containerd, error) {
	// What fails comes back as an error; the rest of what containerd and its shims say is noise.
	if err := log.SetLevel("fatal"); err != nil {
		return nil, err
	}
	for _, dir := range []string{shimSockets, runcRoot, "/run/garita/tmp"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	c := &containerd{}
	c.registerClient()
	config := containerdConfig(root)
	if err := server.CreateTopLevelDirectories(config); err != nil {
		return nil, fmt.Errorf("prepare containerd: %w", err)
	}
	s, err := server.New(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start containerd: %w", err)
	}
	c.server = s
	if err := s.Start(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("start containerd: %w", err)
	}
	s.Wait()
	if err := c.choose(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func containerdConfig(root string) *srvconfig.Config {
	return &srvconfig.Config{
		Version: version.ConfigVersion,
		Root:    root,
		State:   containerdState,
		TempDir: "/run/garita/tmp",
		Plugins: map[string]any{
			"io.containerd.shim.v1.manager": map[string]any{"socket_dir": shimSockets},
			"io.containerd.server.v1.grpc":  map[string]any{"address": containerdSocket},
			"io.containerd.server.v1.ttrpc": map[string]any{"address": containerdSocket + ".ttrpc"},
			// Collect soon after a deletion, and never by the clock.
			"io.containerd.gc.v1.scheduler": map[string]any{
				"pause_threshold": 0.02, "deletion_threshold": 0, "mutation_threshold": 100,
				"schedule_delay": "0s", "startup_delay": "100ms",
			},
		},
	}
}

// registerClient adds a plugin of ours, loaded last, whose only purpose is the in-process client.
func (c *containerd) registerClient() {
	registry.Register(&plugin.Registration{
		Type: plugins.InternalPlugin,
		ID:   "garita",
		Requires: []plugin.Type{
			plugins.EventPlugin, plugins.LeasePlugin, plugins.SandboxStorePlugin,
			plugins.TransferPlugin, plugins.ServicePlugin, plugins.MountManagerPlugin,
		},
		InitFn: func(ic *plugin.InitContext) (any, error) {
			var err error
			c.client, err = client.New("", client.WithInMemoryServices(ic),
				client.WithDefaultNamespace(containerdNamespace))
			return c.client, err
		},
	})
}

// choose takes the best snapshotter that this host lets us use.
func (c *containerd) choose() error {
	if c.client == nil {
		return fmt.Errorf("start containerd: its client was not made")
	}
	for _, name := range []string{"overlayfs", "native"} {
		if c.client.SnapshotService(name) != nil && snapshotterWorks(c.client, name) {
			c.snapshotter = name
			return nil
		}
	}
	return fmt.Errorf("start containerd: no snapshotter works on this host")
}

func snapshotterWorks(c *client.Client, name string) bool {
	_, err := c.SnapshotService(name).Stat(inNamespace(context.Background()), "garita-probe")
	return err != nil && isNotFound(err)
}

// Close stops containerd; tasks are the engine's to end before.
func (c *containerd) Close() {
	if err := c.collect(); err != nil {
		slog.Warn("collect what was removed", "err", err)
	}
	if c.server != nil {
		c.server.Stop()
	}
}

// collect lets containerd's collector run once, to its end: what was removed is off the disk then.
// Files of images may belong to subordinate ids, and the user cannot remove those by hand.
func (c *containerd) collect() error {
	if c.client == nil {
		return nil
	}
	ctx, cancel := cleanup(context.Background())
	defer cancel()
	leasing := c.client.LeasesService()
	l, err := leasing.Create(ctx, leases.WithRandomID())
	if err != nil {
		return err
	}
	return leasing.Delete(ctx, l, leases.SynchronousDelete)
}

// containerdRoot is where containerd keeps content, snapshots and metadata under the data directory.
func containerdRoot(data string) string { return filepath.Join(data, "containerd") }
