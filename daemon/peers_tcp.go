package daemon

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// errStranger is why a connection to the door is refused: nobody could be held for it.
var errStranger = errors.New("the process at the other end of the connection cannot be told")

// ownersOf are the processes of a user that hold the other end of a connection between loopback
// addresses, none where that is another user's. It reads the kernel's tables, once for each
// connection to the door, and fails where the end is closed already or its holders hide.
func ownersOf(conn net.Conn, uid int) ([]int, error) {
	from, ok := conn.RemoteAddr().(*net.TCPAddr)
	to, ok2 := conn.LocalAddr().(*net.TCPAddr)
	if !ok || !ok2 {
		return nil, errStranger
	}
	for _, t := range []struct{ table, before string }{
		{"/proc/net/tcp", ""},
		{"/proc/net/tcp6", "0000000000000000FFFF0000"}, // an IPv6 socket at an IPv4 address
	} {
		inode, owner, found := socketOf(t.table, t.before+hexAddr(from), t.before+hexAddr(to))
		switch {
		case !found:
			continue
		case owner != strconv.Itoa(uid):
			return nil, nil
		}
		if pids := holdersOf("socket:["+inode+"]", uid); len(pids) > 0 {
			return pids, nil
		}
		break
	}
	return nil, errStranger
}

// socketOf finds the one connection between two addresses in a table as of proc(5). Either address
// alone may be that of other sockets, too.
func socketOf(table, local, remote string) (inode, uid string, found bool) {
	f, err := os.Open(table)
	if err != nil {
		return "", "", false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // sl local remote state queues timer retransmits uid timeout inode
		if len(fields) > 9 && fields[1] == local && fields[2] == remote && fields[9] != "0" {
			return fields[9], fields[7], true
		}
	}
	return "", "", false
}

// hexAddr is an IPv4 address as the kernel's tables write it: four bytes in the machine's order.
func hexAddr(a *net.TCPAddr) string {
	ip := a.IP.To4()
	if ip == nil {
		return ""
	}
	little := []byte{ip[3], ip[2], ip[1], ip[0]} // all machines we build for are little-endian
	return strings.ToUpper(hex.EncodeToString(little)) + fmt.Sprintf(":%04X", a.Port)
}

// holdersOf are the processes that have a file open by that name.
func holdersOf(link string, uid int) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || !owned(info, uid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && opens(dir, link) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func opens(dir, link string) bool {
	fds, _ := os.ReadDir(dir + "/fd")
	for _, fd := range fds {
		if to, err := os.Readlink(dir + "/fd/" + fd.Name()); err == nil && to == link {
			return true
		}
	}
	return false
}

func owned(info os.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}
