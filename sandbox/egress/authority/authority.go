// Package authority makes certificates that only one sandbox believes: the daemon makes an authority at
// the sandbox's start, and the wall signs with it for the hosts to which secrets are sent.
//
// An authority is good for the hosts it was made for: it is constrained by name. curl, Python, Node.js
// (OpenSSL) and Go heed that; Java does not look at constraints of what it is told to trust, and works.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

const (
	// validity is how long an authority is good for: longer than a sandbox lives, for a new one is made
	// at each start.
	validity = 90 * 24 * time.Hour
	// early is how far a clock inside may be behind.
	early = 24 * time.Hour
)

// New makes an authority for hosts, of which there is at least one.
//
// Errors: InvalidArgument.
func New(hosts []sandbox.Endpoint) (wire.Authority, error) {
	if len(hosts) == 0 {
		return wire.Authority{}, fmt.Errorf("an authority for no host at all: %w", errdefs.ErrInvalidArgument)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return wire.Authority{}, fmt.Errorf("make an authority: %w", err)
	}
	template := template(hosts, time.Now())
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return wire.Authority{}, fmt.Errorf("make an authority: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return wire.Authority{}, fmt.Errorf("make an authority: %w", err)
	}
	return wire.Authority{Cert: encode("CERTIFICATE", der), Key: wire.NewSecret(encode("PRIVATE KEY", private))}, nil
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func template(hosts []sandbox.Endpoint, now time.Time) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{Organization: []string{"Garita"}, CommonName: "Garita, for this sandbox alone"},
		NotBefore:    now.Add(-early), NotAfter: now.Add(validity),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true,
	}
	constrain(c, hosts)
	return c
}

// constrain permits hosts alone. A kind of name of which none is permitted would be unconstrained:
// therefore the last two lines.
func constrain(c *x509.Certificate, hosts []sandbox.Endpoint) {
	for _, h := range hosts {
		if ip, ok := h.Address(); ok {
			bits := ip.BitLen()
			c.PermittedIPRanges = append(c.PermittedIPRanges, &net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(bits, bits)})
			continue
		}
		c.PermittedDNSDomains = append(c.PermittedDNSDomains, strings.TrimPrefix(h.Host, "*."))
	}
	if len(c.PermittedDNSDomains) == 0 {
		c.PermittedDNSDomains = []string{"nothing.invalid"}
	}
	if len(c.PermittedIPRanges) == 0 {
		c.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}
	}
}

// serial is 127 random bits.
func serial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}
