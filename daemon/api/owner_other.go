//go:build !linux

package api

import "net"

// checkOwner trusts the socket directory's permissions where the kernel does not name the peer.
func checkOwner(net.Conn) error { return nil }
