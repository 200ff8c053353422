// Package httpapi serves daemon/api: on the user's unix socket to programs of this user, and on
// loopback to browsers that hold a one-time link's session.
//
// routes.go is the whole list of what can be asked, and by which door: it is the permission table.
// Everything a caller sends is doubted at the door (door_socket.go, door_page.go) before a handler
// sees it; what handlers answer and how errors look is one file per resource and problem.go.
package httpapi

//go:generate go test -run TestOpenAPI -update .
