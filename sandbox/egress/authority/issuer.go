package authority

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

const (
	// leafValidity is how long a host's certificate is good for, and leafSpare what must be left of that
	// when it is shown again.
	leafValidity = 7 * 24 * time.Hour
	leafSpare    = 24 * time.Hour
	// maxLeaves bounds what is kept: a wildcard may stand for many hosts.
	maxLeaves = 256
)

// Issuer signs for hosts. Its methods may be called at the same time.
type Issuer struct {
	cert *x509.Certificate
	sign crypto.Signer
	key  *ecdsa.PrivateKey // of every leaf

	mu     sync.Mutex // guards leaves
	leaves map[string]*tls.Certificate
}

// errUnreadable quotes nothing: it is about a key.
var errUnreadable = fmt.Errorf("the sandbox's authority cannot be read: %w", errdefs.ErrInvalidArgument)

// Open reads an authority. The zero one is an Issuer that signs for nothing.
//
// Errors: InvalidArgument.
func Open(a wire.Authority) (*Issuer, error) {
	if a.Cert == "" && a.Key.IsZero() {
		return &Issuer{}, nil
	}
	cert, err := tls.X509KeyPair([]byte(a.Cert), []byte(a.Key.Send()))
	if err != nil {
		return nil, errUnreadable
	}
	signer, ok := cert.PrivateKey.(crypto.Signer)
	if !ok || !cert.Leaf.IsCA {
		return nil, errUnreadable
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &Issuer{cert: cert.Leaf, sign: signer, key: key, leaves: map[string]*tls.Certificate{}}, nil
}

// Covers says whether the authority may sign for e, a host or a wildcard.
func (i *Issuer) Covers(e sandbox.Endpoint) bool {
	if i.cert == nil {
		return false
	}
	probe := &x509.Certificate{NotBefore: i.cert.NotBefore, NotAfter: i.cert.NotAfter}
	host := e.Host
	if base, wild := e.Wildcard(); wild {
		host = "garita-probe." + base
	}
	name(probe, host)
	leaf, err := i.issue(probe)
	if err != nil {
		return false
	}
	roots := x509.NewCertPool()
	roots.AddCert(i.cert)
	_, err = leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err == nil
}

// Leaf is a certificate for host, a name or an address. It is the same one for some days.
func (i *Issuer) Leaf(host string) (*tls.Certificate, error) {
	if i.cert == nil {
		return nil, errors.New("this sandbox has no authority")
	}
	now := time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	if kept := i.leaves[host]; kept != nil && now.Add(leafSpare).Before(kept.Leaf.NotAfter) {
		return kept, nil
	}
	until := now.Add(leafValidity)
	if until.After(i.cert.NotAfter) {
		until = i.cert.NotAfter
	}
	t := &x509.Certificate{NotBefore: now.Add(-early), NotAfter: until}
	name(t, host)
	leaf, err := i.issue(t)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	if len(i.leaves) >= maxLeaves {
		clear(i.leaves)
	}
	i.leaves[host] = leaf
	return leaf, nil
}

// name makes t a certificate for host.
func name(t *x509.Certificate, host string) {
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = []net.IP{ip}
		return
	}
	t.DNSNames = []string{strings.ToLower(host)}
}

func (i *Issuer) issue(t *x509.Certificate) (*tls.Certificate, error) {
	t.SerialNumber = serial()
	t.Subject = pkix.Name{Organization: []string{"Garita"}}
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, t, i.cert, i.key.Public(), i.sign)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key, Leaf: leaf}, err
}

// Root is the authority's certificate, PEM; "" where there is none.
func (i *Issuer) Root() string {
	if i.cert == nil {
		return ""
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw}))
}
