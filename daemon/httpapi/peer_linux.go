package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOfConn asks the kernel who opened conn.
func peerOfConn(conn net.Conn) (Peer, error) {
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{UID: -1}, errors.New("not a unix socket")
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return Peer{UID: -1}, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return Peer{UID: -1}, fmt.Errorf("ask who is at the socket: %w", err)
	}
	return Peer{PID: int(cred.Pid), UID: int(cred.Uid), Start: startTime(int(cred.Pid))}, nil
}

// startTime is when a process was started, in clock ticks since boot; 0 when it is gone.
func startTime(pid int) uint64 {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	return startField(stat)
}

// startField reads field 22 of /proc/PID/stat. Field 2, in parentheses, may hold anything.
func startField(stat []byte) uint64 {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return 0
	}
	ticks, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return 0
	}
	return ticks
}
