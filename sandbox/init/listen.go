package main

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// listen opens each address in this network namespace and sends the listening sockets over the
// wall's socket, one message each with the address as its text. The wall accepts on them; nothing
// here ever does.
func listen(addresses []string, f files) error {
	if len(addresses) == 0 {
		return nil
	}
	if f.wall == nil {
		return errors.New("listen: no wall was handed over")
	}
	defer f.wall.Close()
	for _, a := range addresses {
		if err := listenOne(a, int(f.wall.Fd())); err != nil {
			return errors.New("listen on " + a + ": " + err.Error())
		}
	}
	return nil
}

func listenOne(address string, wall int) error {
	port, ok := strings.CutPrefix(address, "127.0.0.1:")
	n, err := strconv.ParseUint(port, 10, 16)
	if !ok || err != nil || n == 0 {
		return errors.New("only a port of 127.0.0.1")
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(n), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 128); err != nil {
		return err
	}
	return unix.Sendmsg(wall, []byte(address), unix.UnixRights(fd), nil, 0)
}
