// Visit is a visitor written in Go (see package visitors): over HTTP, a WebSocket, gRPC, or below them.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: visit get|websocket|grpc|tcp|udp URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	err := visit(ctx, os.Args[1], os.Args[2])
	fmt.Fprintf(os.Stderr, "took %f\n", float64(time.Since(began))/float64(time.Millisecond))
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to cancel
	}
}

func visit(ctx context.Context, how, where string) error {
	switch how {
	case "get":
		return get(ctx, where)
	case "websocket":
		return socket(ctx, where)
	case "grpc":
		return health(ctx, where)
	case "tcp":
		return exchange(ctx, how, where, "443", []byte("GET / HTTP/1.0\r\nHost: "+strings.TrimPrefix(where, "http://")+"\r\n\r\n"))
	case "udp":
		return exchange(ctx, how, where, "53", []byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"))
	}
	return errors.New("get, websocket, grpc, tcp, or udp?")
}

func authorization() http.Header {
	if token := os.Getenv("TOKEN"); token != "" {
		return http.Header{"Authorization": {"Bearer " + token}}
	}
	return http.Header{}
}

func get(ctx context.Context, where string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return err
	}
	r.Header = authorization()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func socket(ctx context.Context, where string) error {
	c, answer, err := websocket.DefaultDialer.DialContext(ctx, strings.Replace(where, "http", "ws", 1), authorization())
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	defer c.Close()
	said := os.Getenv("TOKEN")
	if said == "" {
		said = "no token"
	}
	if err := c.WriteMessage(websocket.TextMessage, []byte(said)); err != nil {
		return err
	}
	for range 2 {
		_, text, err := c.ReadMessage()
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	}
	return nil
}

func health(ctx context.Context, where string) error {
	at, err := url.Parse(where)
	if err != nil {
		return err
	}
	c, err := grpc.NewClient(address(at, "443"), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})))
	if err != nil {
		return err
	}
	defer c.Close()
	if token := os.Getenv("TOKEN"); token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	var said metadata.MD
	_, err = grpc_health_v1.NewHealthClient(c).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Header(&said))
	fmt.Println(strings.Join(said.Get("x-answer"), " "))
	return err
}

func address(at *url.URL, port string) string {
	if at.Port() != "" {
		port = at.Port()
	}
	return net.JoinHostPort(at.Hostname(), port)
}

// exchange says something and prints how the answer begins.
func exchange(ctx context.Context, network, where, port string, said []byte) error {
	at, err := url.Parse(where)
	if err != nil {
		return err
	}
	c, err := new(net.Dialer).DialContext(ctx, network, address(at, port))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(said); err != nil {
		return err
	}
	answer := make([]byte, 512)
	n, err := c.Read(answer)
	fmt.Printf("hello from %q\n", answer[:n])
	return err
}
