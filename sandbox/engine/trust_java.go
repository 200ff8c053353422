package engine

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/garita-dev/garita/sandbox/ocispec"
)

// javaStores makes the store of certificates that Java reads. The host's are read once, for they are many.
// The zero javaStores is ready; its methods may overlap.
type javaStores struct {
	mu   sync.Mutex // guards the fields below
	host []byte     // that was read last
	read []*x509.Certificate
}

// store is the certificates of host and own, both PEM, in PKCS#12. What is no certificate among the host's is
// left out, as Java would leave it.
func (j *javaStores) store(host, own []byte) ([]byte, error) {
	all := append(j.of(host), readCertificates(own)...)
	entries := make([]pkcs12.TrustStoreEntry, len(all))
	for i, c := range all { // of two with one name Java reads the last
		entries[i] = pkcs12.TrustStoreEntry{Cert: c, FriendlyName: fmt.Sprintf("garita-%d", i)}
	}
	return pkcs12.Modern2023.EncodeTrustStoreEntries(entries, ocispec.JavaPassword)
}

// of are the host's certificates. The caller may append to them.
func (j *javaStores) of(host []byte) []*x509.Certificate {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !bytes.Equal(j.host, host) {
		j.host, j.read = host, readCertificates(host)
	}
	return j.read[:len(j.read):len(j.read)]
}

func readCertificates(text []byte) (all []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			all = append(all, c)
		}
	}
}
