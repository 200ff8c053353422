//go:build desktop

package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/garita-dev/garita/assets"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/frontend"
)

// window is what lives as long as the webview: the relay of events, and the page the first start
// asked for.
type window struct {
	daemon *api.Client
	first  string // path to open once the page is there

	mu   sync.Mutex // guards ctx
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

// run opens the window and blocks until it is quit.
func run(args []string) error {
	daemon := api.Default()
	defer daemon.Close()
	w := &window{daemon: daemon, first: pageFor(args)}
	if err := wails.Run(w.options()); err != nil {
		return fmt.Errorf("open the window: %w", err)
	}
	return nil
}

func (w *window) options() *options.App {
	page := frontend.Dist()
	return &options.App{
		Title:             "Garita",
		Width:             1180,
		Height:            760,
		MinWidth:          400,
		MinHeight:         420,
		HideWindowOnClose: true,
		BackgroundColour:  options.NewRGB(0x14, 0x16, 0x1a),
		AssetServer: &assetserver.Options{
			Assets:     page,
			Handler:    proxy(w.daemon, page),
			Middleware: strict,
		},
		OnStartup:  w.start,
		OnDomReady: w.ready,
		OnShutdown: w.shutdown,
		SingleInstanceLock: &options.SingleInstanceLock{
			UniqueId:               "dev.garita.desktop",
			OnSecondInstanceLaunch: w.again,
		},
		Linux: &linux.Options{
			Icon:             assets.TrayIcon,
			ProgramName:      "garita-desktop",
			WebviewGpuPolicy: linux.WebviewGpuPolicyNever,
		},
	}
}

func (w *window) start(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	follow, stop := context.WithCancel(ctx)
	w.stop = stop
	w.done.Go(func() {
		if err := ensureDaemon(follow, w.daemon); err != nil {
			slog.WarnContext(follow, "no daemon answers", "err", err)
		}
		relay(follow, w.daemon, func(name string, data any) { runtime.EventsEmit(ctx, name, data) })
	})
}

func (w *window) ready(ctx context.Context) {
	if w.first != "/" {
		runtime.EventsEmit(ctx, eventOpen, w.first)
	}
}

// again is called in the first process when a second was started: it shows the window and opens
// what the second was asked for.
func (w *window) again(second options.SecondInstanceData) {
	w.mu.Lock()
	ctx := w.ctx
	w.mu.Unlock()
	if ctx == nil {
		return
	}
	runtime.WindowUnminimise(ctx)
	runtime.WindowShow(ctx)
	if page := pageFor(second.Args); page != "/" {
		runtime.EventsEmit(ctx, eventOpen, page)
	}
}

func (w *window) shutdown(context.Context) {
	w.mu.Lock()
	stop := w.stop
	w.mu.Unlock()
	if stop != nil {
		stop()
	}
	w.done.Wait()
}
