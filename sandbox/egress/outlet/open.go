package outlet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// protocols are those that both sides of an opened connection may speak, each its own.
var protocols = []string{"h2", "http/1.1"}

// serveTLS opens TLS: the sandbox speaks to us, who have a certificate that it alone believes, and we to
// the host, at the address that was checked, whose certificate the system has to believe.
func (o *Outlet) serveTLS(l *live, in *peeked, outside net.Conn) {
	if !l.greeting.nothing() {
		o.mismatch(l, "TLS was begun with a server that had spoken first")
		return
	}
	conn := newCounted(in, o, l)
	inside, err := o.handshake(l, conn)
	if err != nil {
		o.notBelieved(l, err)
		return
	}
	o.mu.Lock()
	l.opened = true
	o.mu.Unlock()
	upstream := newPinned(o, l, outside)
	upstream.transport.TLSClientConfig = &tls.Config{ServerName: l.host, RootCAs: o.Secrets.roots, NextProtos: protocols, MinVersion: tls.VersionTLS12, GetClientCertificate: upstream.showNone}
	upstream.transport.TLSHandshakeTimeout = dialTime
	upstream.transport.ForceAttemptHTTP2 = true
	upstream.transport.MaxIdleConns, upstream.transport.MaxIdleConnsPerHost = maxIdle, maxIdle
	o.serve(l, inside, conn.closed, upstream)
}

// maxIdle bounds the connections that wait to be used again: the sandbox may speak HTTP/2, its host not.
const maxIdle = 16

func (o *Outlet) handshake(l *live, conn net.Conn) (*tls.Conn, error) {
	leaf, err := o.Secrets.issuer.Leaf(l.host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(o.ctx, helloTime)
	defer cancel()
	inside := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*leaf}, NextProtos: protocols, MinVersion: tls.VersionTLS12})
	return inside, inside.HandshakeContext(ctx)
}

// notBelieved ends a connection whose sandbox does not go on with TLS.
func (o *Outlet) notBelieved(l *live, err error) {
	var alert *net.OpError
	switch {
	case errors.As(err, &alert) && alert.Op == "remote error":
		o.mismatch(l, fmt.Sprintf("TLS was to be opened, for a secret may be sent there, but the program inside did not go on (%s): it believes certain certificates only, or does not read the variables that name Garita's", alert.Err))
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled):
		l.end("")
	default:
		o.mismatch(l, "TLS was to be opened, for a secret may be sent there, and could not be agreed on")
	}
}

// unanswered says in a clause why a host did not answer, and what kind of denial that is; "" is none. It
// quotes nothing that was sent.
func unanswered(err error) (sandbox.DenialKind, string) {
	var coded *errCoded
	var certificate *tls.CertificateVerificationError
	var alert *net.OpError
	switch {
	case errors.As(err, &coded):
		return sandbox.DeniedContent, coded.Error()
	case errors.As(err, &certificate):
		return sandbox.DeniedUpstream, "its certificate is not believed: " + unbelieved(certificate.Err)
	case errors.Is(err, errNoCertificate):
		return sandbox.DeniedContent, "it asks for a certificate of the client's, which cannot be shown where TLS is opened"
	case errors.As(err, &alert) && alert.Op == "remote error":
		return sandbox.DeniedUpstream, "it refused TLS (" + alert.Err.Error() + ")"
	case errors.As(err, &alert):
		return "", plainly(err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "", "it closed the connection"
	case errors.Is(err, context.Canceled):
		return "", "the request was given up"
	case errors.Is(err, context.DeadlineExceeded):
		return "", "it did not answer in time"
	}
	return "", "its answer cannot be read"
}

func unbelieved(err error) string {
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "it is for another name"
	case errors.As(err, &unknown):
		return "nobody knows who signed it"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired, or is not yet valid, at " + time.Now().UTC().Format(time.DateOnly)
	}
	return "it is not valid"
}
