package daemon

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ownersOf are the processes of a user that hold the socket at a loopback address. It reads the
// kernel's tables, once for each connection to the door.
func ownersOf(addr net.Addr, uid int) []int {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return nil
	}
	inode := inodeOf("/proc/net/tcp", tcp, uid)
	if inode == "" {
		return nil
	}
	return holdersOf("socket:["+inode+"]", uid)
}

// inodeOf finds the socket with a local address in a table as of proc(5).
func inodeOf(table string, local *net.TCPAddr, uid int) string {
	f, err := os.Open(table)
	if err != nil {
		return ""
	}
	defer f.Close()
	want := hexAddr(local)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // sl local remote state queues timer retransmits uid timeout inode
		if len(fields) > 9 && fields[1] == want && fields[7] == strconv.Itoa(uid) {
			return fields[9]
		}
	}
	return ""
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
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && pid != os.Getpid() && opens(dir, link) {
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
