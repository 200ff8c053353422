package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/remote"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
)

// listening is one life of a sandboxed server that speaks Streamable HTTP on a port inside. The
// connection's life is the instance's.
type listening struct {
	*remote.Conn
	life
	idle func()
}

// openListening waits until the server listens, and reaches it there. On an error it is stopped.
func (d *Daemon) openListening(ctx context.Context, server sandbox.Server, i *supervisor.Instance) (gateway.Upstream, error) {
	l, err := d.reachInside(ctx, server, i)
	if err == nil {
		return l, nil
	}
	if ctx.Err() == nil {
		i.Fail(err.Error())
	}
	stopped := i.Stop(context.WithoutCancel(ctx))
	return nil, errors.Join(fmt.Errorf("%s does not listen where servers.yaml says: %w. %s", server.Name, err, d.trouble(server.Name, i)), stopped)
}

func (d *Daemon) reachInside(ctx context.Context, server sandbox.Server, i *supervisor.Instance) (gateway.Upstream, error) {
	at := server.Source.Listen
	if err := i.AwaitListening(ctx, at.Port); err != nil {
		return nil, err
	}
	host := net.JoinHostPort("localhost", strconv.Itoa(at.Port))
	client := insideClient(host, func(ctx context.Context) (net.Conn, error) { return i.Dial(ctx, at.Port) })
	conn, err := remote.Open(ctx, remote.Options{
		Name: string(server.Name), URL: "http://" + host + at.Path, Client: client, Log: d.log,
		Limits: remote.Limits{Message: int(d.config.Settings().Message)},
	})
	if err != nil {
		return nil, err
	}
	l := &listening{conn, life{i}, client.CloseIdleConnections}
	go l.follow()
	return l, nil
}

// maxInsideHeaders bounds an answer's headers, in bytes.
const maxInsideHeaders = 64 << 10

// insideClient reaches one port of one sandbox and nothing else, whatever an answer says.
func insideClient(host string, dial func(context.Context) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				if addr != host {
					return nil, fmt.Errorf("%s is not where the server listens", addr)
				}
				return dial(ctx)
			},
			MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxInsideHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// follow ends the connection with the instance.
func (l *listening) follow() {
	<-l.instance.Ended()
	_ = l.Conn.Stop(context.Background())
	l.idle()
}

// Stop says goodbye and ends the instance. It returns when both have ended.
func (l *listening) Stop(ctx context.Context) error {
	return errors.Join(l.Conn.Stop(ctx), l.life.Stop(ctx))
}
