package engine

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox/ocispec"
)

// usualBundle is where most hosts keep the certificates that programs trust, below /etc.
const usualBundle = "ssl/certs/ca-certificates.crt"

// otherBundles are where some hosts keep them.
var otherBundles = []string{"pki/tls/certs/ca-bundle.crt", "ssl/cert.pem"}

// makeBundle makes sure that the synthetic /etc has the usual bundle, over which that of a sandbox with
// an authority of its own is mounted.
func makeBundle(etc string) error {
	usual := filepath.Join(etc, usualBundle)
	if _, err := os.Stat(usual); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var text []byte
	for _, name := range otherBundles {
		var err error
		if text, err = os.ReadFile(filepath.Join(etc, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(text) > 0 {
			break
		}
	}
	return writeFile(usual, text)
}

// trust writes the files by which programs of one sandbox trust the certificate besides the host's.
func (e *Engine) trust(certificate, dir string) (ocispec.Trust, error) {
	if certificate == "" {
		return ocispec.Trust{}, nil
	}
	own, err := certificates([]byte(certificate))
	if err != nil {
		return ocispec.Trust{}, fmt.Errorf("trust: %w: %w", err, errdefs.ErrInvalidArgument)
	}
	host, err := os.ReadFile(filepath.Join(e.host.Etc, usualBundle))
	if err != nil {
		return ocispec.Trust{}, fmt.Errorf("trust: %w", err)
	}
	t := ocispec.Trust{Certificate: filepath.Join(dir, "ca.crt"), Bundle: filepath.Join(dir, "bundle.crt")}
	for _, name := range otherBundles {
		if _, err := os.Stat(filepath.Join(e.host.Etc, name)); err == nil {
			t.Bundles = append(t.Bundles, filepath.Join("/etc", name))
		}
	}
	java, err := e.java.store(host, own)
	if err != nil {
		return ocispec.Trust{}, fmt.Errorf("trust: for Java: %w", err)
	}
	t.Java = filepath.Join(dir, "cacerts.p12")
	// The directory is the engine's alone: readable for all inside, where they are bound.
	return t, errors.Join(writeFile(t.Java, java), writeFile(t.Certificate, own), writeFile(t.Bundle, append(append(host, '\n'), own...)))
}

// certificates writes those of text anew, and nothing else of it.
func certificates(text []byte) (out []byte, err error) {
	for rest := text; len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("something is no certificate")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, err
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	return out, nil
}
