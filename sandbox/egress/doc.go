// Package egress is the wall: the one process that sandboxes reach the world through, and that
// fetches packages and images for the rest of Garita.
//
// It parses what the world sends, so it has no rights: an ordinary user without capabilities that
// can gain none, outside the engine's namespace. It knows the daemon by one inherited socket
// and ends with it. What it is told, tokens included, comes by that socket and is kept in memory
// as long as the request that brought it.
//
// A sandbox in which packages are installed has a network of its own with nothing in it but one
// listening socket, and that socket is held here. What connects to it may read the descriptions and
// tarballs of packages from the configured registries. It can name no other host, method or path.
package egress
