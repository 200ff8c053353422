package engine

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// program is one that a thread is about to execute: what rules see of it, and by what it is known again
// once it has been executed.
type program struct {
	sandbox.Execution
	dir   string   // the working directory
	image inode    // of the file that the kernel executes in the end; the zero inode is none
	argv  []string // that it gets then
}

// inode tells a file from others, for as long as it is held open or executed.
type inode struct{ device, number uint64 }

// root is the root directory of a sandbox.
type root int

// open opens what is at a path inside, without following where the kernel alone leads.
func (r root) open(name string) (*os.File, error) {
	fd, err := unix.Openat2(int(r), name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// programOf reads what a question is about. refusal is what is answered where there is nothing to execute,
// whatever the rules say; 0 otherwise. What has no path inside, such as a file in memory, has none.
func (r root) programOf(q *question, at place) (p program, refusal unix.Errno) {
	m := memory(q.pid)
	name, whole := m.raw(q.args[at.path], unix.PathMax)
	if !whole {
		return p, unix.EFAULT
	}
	words, whole := m.words(q.args[at.argv])
	p.Argv, p.argv, p.Cut = words, words, !whole
	if len(words) == 0 {
		p.argv = []string{""} // as the kernel has it
	}
	p.dir, _ = os.Readlink(proc(q.pid, "cwd"))
	if at.fd >= 0 && q.args[at.path+3]&unix.AT_EMPTY_PATH != 0 && name == "" {
		r.openFile(&p, proc(q.pid, at.dir(q)))
		return p, 0
	}
	if name == "" {
		return p, unix.ENOENT
	}
	if clean := path.Clean(name); clean == "/proc/self/exe" || clean == "/proc/thread-self/exe" {
		r.openFile(&p, proc(q.pid, "exe"))
		return p, 0
	}
	given := name
	if !path.IsAbs(name) {
		from, err := os.Readlink(proc(q.pid, at.dir(q)))
		if err != nil || !path.IsAbs(from) {
			return p, unix.ENOENT
		}
		if dir := at.dir(q); dir != "cwd" {
			given = "/dev/" + dir + "/" + name // what the kernel tells a script
		}
		name = from + "/" + name
	}
	return p, r.named(&p, name, given)
}

func proc(pid uint32, what string) string {
	return "/proc/" + strconv.FormatUint(uint64(pid), 10) + "/" + what
}

// openFile is about a file that is open, or executed, already. Where it has a path inside, it is as if
// that had been named.
func (r root) openFile(p *program, link string) {
	f, err := os.OpenFile(link, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer f.Close()
	name, err := os.Readlink(link)
	if err != nil || !path.IsAbs(name) {
		return
	}
	there, err := r.open(name)
	if err != nil {
		return
	}
	defer there.Close()
	if inodeOf(there) == inodeOf(f) {
		_ = r.named(p, name, name)
	}
}

// named finds the program at a path. given is how it was named, as a script is told.
func (r root) named(p *program, name, given string) unix.Errno {
	base := name[strings.LastIndexByte(name, '/')+1:]
	if base == "" || base == "." || base == ".." {
		return unix.EACCES // a directory
	}
	if isOwn(name) {
		return 0
	}
	dir, err := r.open(strings.TrimSuffix(name, base))
	if errors.Is(err, unix.ELOOP) {
		return 0 // the kernel alone knows where that leads: it is nothing that has a name
	}
	if err != nil {
		return errnoOf(err)
	}
	defer dir.Close()
	f, err := r.open(name)
	if errors.Is(err, unix.ELOOP) {
		return 0 // likewise
	}
	if err != nil {
		return errnoOf(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return unix.EACCES
	}
	in, err := os.Readlink(open(dir))
	if err != nil {
		return unix.ENOENT
	}
	p.Path = path.Join(in, base)
	if p.Real, err = os.Readlink(open(f)); err != nil {
		return unix.ENOENT
	}
	p.Fixed = fixed(dir) && fixed(f)
	return r.throughScripts(p, f, given)
}

// isOwn says whether a path is another one for each process that uses it.
func isOwn(name string) bool {
	name = path.Clean(name)
	return strings.HasPrefix(name, "/proc/self/") || strings.HasPrefix(name, "/proc/thread-self/") || strings.HasPrefix(name, "/dev/fd/")
}

// open is a file of ours below /proc.
func open(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

func errnoOf(err error) unix.Errno {
	if errno := unix.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return unix.EACCES
}

// fixed says whether the sandbox cannot write where a file is.
func fixed(f *os.File) bool {
	var s unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &s) == nil && s.Flags&unix.ST_RDONLY != 0
}

func inodeOf(f *os.File) inode {
	var s unix.Stat_t
	if unix.Fstat(int(f.Fd()), &s) != nil {
		return inode{}
	}
	return inode{s.Dev, s.Ino}
}

// maxInterpreters is how many scripts may interpret each other; with one more the kernel refuses.
const maxInterpreters = 5

// throughScripts follows a script to the program that the kernel executes, as the kernel does.
func (r root) throughScripts(p *program, f *os.File, given string) unix.Errno {
	p.image = inodeOf(f)
	for range maxInterpreters {
		name, argument, script := interpreter(f)
		if !script {
			return 0
		}
		next, err := r.open(name)
		if err != nil {
			return errnoOf(err)
		}
		defer next.Close()
		p.argv = slices.Concat(words(name, argument, given), p.argv[min(1, len(p.argv)):])
		given, f = name, next
		p.Via, p.image = p.argv, inodeOf(next)
		if p.ViaReal, err = os.Readlink(open(next)); err != nil {
			return unix.ENOENT
		}
	}
	return unix.ELOOP
}

func words(all ...string) []string {
	return slices.DeleteFunc(all, func(w string) bool { return w == "" })
}

// headLength is how much of a file the kernel looks at to see what it is, in bytes.
const headLength = 256

// interpreter is what the first line of a script says; script is false for what is none.
func interpreter(f *os.File) (name, argument string, script bool) {
	readable, err := os.OpenFile(open(f), os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", "", false
	}
	defer readable.Close()
	head := make([]byte, headLength)
	n, _ := io.ReadFull(readable, head)
	line, script := bytes.CutPrefix(head[:n], []byte("#!"))
	if !script {
		return "", "", false
	}
	if end := bytes.IndexAny(line, "\n\x00"); end >= 0 {
		line = line[:end]
	}
	text := strings.Trim(string(line), " \t")
	if cut := strings.IndexAny(text, " \t"); cut >= 0 {
		return text[:cut], strings.TrimLeft(text[cut:], " \t"), true
	}
	return text, "", text != ""
}

// executed says whether a process has become this program, and no other.
func (p program) executed(t tracee) bool {
	if p.image == (inode{}) {
		return false
	}
	var s unix.Stat_t
	if unix.Stat(proc(uint32(t), "exe"), &s) != nil || (inode{s.Dev, s.Ino}) != p.image {
		return false
	}
	return p.Cut || slices.Equal(argvOf(t), p.argv)
}

// argvOf are the words that a process has just been given.
func argvOf(t tracee) []string {
	text, err := os.ReadFile(proc(uint32(t), "cmdline"))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}
