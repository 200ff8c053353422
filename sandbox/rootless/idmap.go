package rootless

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
)

// MinIDs is the least number of subordinate ids a user needs: every id of a usual image.
const MinIDs = 65536

// IDRange is a range of subordinate ids that belongs to a user.
type IDRange struct{ Start, Count uint32 }

// ParseSubIDs finds the first range of at least one id in the text of /etc/subuid or /etc/subgid
// for a user, by name or by number. ok is false when there is none.
func ParseSubIDs(text []byte, name string, uid int) (r IDRange, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		owner, rest, found := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		if !found || (owner != name && owner != strconv.Itoa(uid)) {
			continue
		}
		start, count, found := strings.Cut(rest, ":")
		s, err1 := strconv.ParseUint(start, 10, 32)
		c, err2 := strconv.ParseUint(count, 10, 32)
		if !found || err1 != nil || err2 != nil || c == 0 || s == 0 || s+c > 1<<32-1 {
			continue
		}
		return IDRange{uint32(s), uint32(c)}, true
	}
	return IDRange{}, false
}

func subIDs(file string) (IDRange, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return IDRange{}, err
	}
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	r, ok := ParseSubIDs(text, name, os.Getuid())
	if !ok {
		return IDRange{}, fmt.Errorf("%s has no range for %s", file, name)
	}
	return r, nil
}

// mapIDs makes id 0 of the child's user namespace this user, and ids from 1 on its subordinate ids.
func mapIDs(pid int) error {
	uids, err := subIDs("/etc/subuid")
	if err != nil {
		return err
	}
	gids, err := subIDs("/etc/subgid")
	if err != nil {
		return err
	}
	if err := runMap("newuidmap", pid, os.Getuid(), uids); err != nil {
		return err
	}
	return runMap("newgidmap", pid, os.Getgid(), gids)
}

func runMap(tool string, pid, id int, r IDRange) error {
	args := []string{
		strconv.Itoa(pid), "0", strconv.Itoa(id), "1",
		"1", strconv.FormatUint(uint64(r.Start), 10), strconv.FormatUint(uint64(r.Count), 10),
	}
	out, err := exec.Command(tool, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", tool, err, bytes.TrimSpace(out))
	}
	return nil
}

// SubordinateIDs is how many ids above 0 a user namespace of this user's gets.
func SubordinateIDs() (uint32, error) {
	uids, err := subIDs("/etc/subuid")
	if err != nil {
		return 0, err
	}
	gids, err := subIDs("/etc/subgid")
	if err != nil {
		return 0, err
	}
	return min(uids.Count, gids.Count), nil
}
