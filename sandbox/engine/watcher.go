package engine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/ocispec"
)

const killed = unix.SIGKILL

const (
	// maxWaiting is how many paths may wait to be looked up; more are lost.
	maxWaiting = 1024
	// watcherEnd bounds how long a watcher's end is waited for: a lookup may hang on a remote file system.
	watcherEnd = 5 * time.Second
)

// watcher is asked by the kernel before the programs of one sandbox execute something or look for a
// file. It lets them go on at once, whatever it is, and looks into it afterwards: it decides nothing, but by
// a holder about what is executed.
type watcher struct {
	note   *sightings
	files  bool        // files are looked into, not commands alone
	held   *holder     // of what is executed; nil where no rules hold
	skip   []string    // directories below which nothing is noted as missing
	mounts []string    // of which it is told once that they are used
	broken func(error) // told when it can answer no more

	listener *net.UnixListener
	stop     *os.File // an eventfd: readable once it is to end
	looks    chan look
	running  sync.WaitGroup
	looking  sync.WaitGroup
	began    bool // garita-init has been executed: before, it is runc that is seen
	root     int  // the sandbox's root directory; -1 until it is known, which is before anything is looked up
}

// look is one thing that a program is about to do.
type look struct {
	command bool
	path    string // absolute
	argv    []string
	write   bool
	cut     bool // argv is not all there is
	at      time.Time
}

// watchAt begins to wait at socket for runc, which brings the kernel's questions.
func (w *watcher) watchAt(socket string) error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return err
	}
	w.stop = os.NewFile(uintptr(fd), "stop")
	w.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		_ = w.stop.Close()
		return err
	}
	w.looks, w.root = make(chan look, maxWaiting), -1
	w.running.Go(w.watch)
	return nil
}

// close ends the watcher. The sandbox has ended before, or its programs hang from here on.
func (w *watcher) close() error {
	_ = w.listener.Close()
	_, err := unix.Write(int(w.stop.Fd()), []byte{1, 0, 0, 0, 0, 0, 0, 0})
	ended := make(chan struct{})
	go func() {
		w.running.Wait()
		_ = w.stop.Close()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(watcherEnd):
	}
	return err
}

// watch answers until the sandbox has ended.
func (w *watcher) watch() {
	defer w.finish()
	fd, err := w.receive()
	if err != nil {
		return // closed: there is no sandbox
	}
	defer unix.Close(fd)
	w.looking.Go(w.lookUp)
	if w.held != nil {
		runtime.LockOSThread() // who traces is a thread, which ends with this
	}
	// Answers wake the asker on the same processor where the kernel knows how to.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		more, asks, err := w.await(fd)
		if err == nil && asks {
			err = w.answer(fd)
		}
		if err == nil && more && w.held != nil {
			err = w.held.settle(fd, root(w.root))
		}
		switch {
		case err != nil:
			w.broken(err)
			return
		case !more:
			return
		}
	}
}

// finish lets go of the sandbox once everything has been looked up.
func (w *watcher) finish() {
	close(w.looks)
	w.looking.Wait()
	if w.root >= 0 {
		_ = unix.Close(w.root)
	}
	if w.held != nil {
		w.held.end()
	}
}

// receive takes the kernel's file from runc.
func (w *watcher) receive() (int, error) {
	conn, err := w.listener.AcceptUnix()
	if err != nil {
		return -1, err
	}
	defer conn.Close()
	_ = w.listener.Close()
	state, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(state, rights)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return -1, errors.Join(errors.New("no file came"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.Join(errors.New("no file came"), err)
	}
	unix.CloseOnExec(fds[0])
	return fds[0], nil
}

// await waits for a question, or for something else to do; more is false when there will be nothing: the
// sandbox has ended.
func (w *watcher) await(fd int) (more, asks bool, err error) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(w.stop.Fd()), Events: unix.POLLIN}}
	if w.held != nil {
		p = append(p, unix.PollFd{Fd: int32(w.held.wake), Events: unix.POLLIN})
	}
	for {
		_, err := unix.Poll(p, w.held.patience())
		switch {
		case err == unix.EINTR:
		case err != nil:
			return false, false, fmt.Errorf("wait for the kernel's questions: %w", err)
		default:
			asks = p[0].Revents&unix.POLLIN != 0
			return p[1].Revents == 0 && (asks || p[0].Revents == 0), asks, nil
		}
	}
}

// question and reply are seccomp_notif and seccomp_notif_resp of linux/seccomp.h.
type question struct {
	id   uint64
	pid  uint32 // of the thread, in our pid namespace
	_    uint32
	call int32
	arch uint32
	_    uint64
	args [6]uint64
}

type reply struct {
	id    uint64
	_     int64
	errno int32 // negative
	flags uint32
}

// answer takes one question, reads what it is about, and lets it go on.
func (w *watcher) answer(fd int) error {
	var q question
	err := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&q))
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINTR): // the asker is gone
		return nil
	case err != nil:
		return fmt.Errorf("take the kernel's question: %w", err)
	}
	if at, known := callAt(&q); w.held != nil && w.began && (at.command || !known && !w.files) {
		return w.held.decide(fd, root(w.root), q)
	}
	l, interesting := w.read(&q)
	same := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&q.id)) == nil
	err = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}))
	switch {
	case errors.Is(err, unix.ENOENT): // interrupted: it asks again, or has ended
		return nil
	case err != nil:
		return fmt.Errorf("answer the kernel: %w", err)
	}
	if interesting && same {
		w.later(l)
	}
	return nil
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// later leaves a look to be looked up, without waiting.
func (w *watcher) later(l look) {
	select {
	case w.looks <- l:
	default:
		w.note.lose()
	}
}

// read tells what a question is about; interesting is false for what need not be told.
func (w *watcher) read(q *question) (l look, interesting bool) {
	if w.root < 0 { // the first one: its root directory is that of all
		w.root, _ = unix.Open("/proc/"+strconv.Itoa(int(q.pid))+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	at, known := callAt(q)
	if !known {
		return look{}, false
	}
	m := memory(q.pid)
	name, ok := m.text(q.args[at.path], maxPath)
	if !ok {
		return look{}, false
	}
	l = look{command: at.command, path: absolute(q.pid, at.dir(q), name), write: at.writes(q), at: time.Now().UTC()}
	switch {
	case l.path == ocispec.InitPath:
		w.began = true
		return l, false
	case l.path == "", !w.began:
		return l, false
	case at.command:
		w.touch(l)
	}
	switch {
	case at.command && at.argv != noArgv:
		var whole bool
		l.argv, whole = m.words(q.args[at.argv])
		l.cut = !whole
		return l, true
	case at.command:
		return l, true
	}
	w.touch(l)
	for _, dir := range w.skip {
		if within(l.path, dir) {
			return l, false
		}
	}
	return l, true
}

// touch notes that something in a mount is looked for.
func (w *watcher) touch(l look) {
	w.mounts = slices.DeleteFunc(w.mounts, func(at string) bool {
		if !within(l.path, at) {
			return false
		}
		w.note.add(sandbox.SawUsed, look{path: at, at: l.at})
		return true
	})
}

// absolute is a path as a process means it; "" where that cannot be told.
func absolute(pid uint32, dir, name string) string {
	if !path.IsAbs(name) {
		from, err := os.Readlink("/proc/" + strconv.FormatUint(uint64(pid), 10) + "/" + dir)
		if err != nil || !path.IsAbs(from) {
			return ""
		}
		name = from + "/" + name
	}
	return path.Clean(name)
}

// lookUp notes what was executed that is there, and what was looked for that is not.
func (w *watcher) lookUp() {
	for l := range w.looks {
		if l.command {
			w.noteCommand(l)
			continue
		}
		there, known := exists(w.root, l.path)
		switch {
		case !known:
		case !there:
			w.note.add(sandbox.SawMissing, l)
		}
	}
}

// noteCommand notes what was executed, if it is there.
func (w *watcher) noteCommand(l look) {
	p := program{Execution: sandbox.Execution{Argv: l.argv, Cut: l.cut}, argv: l.argv}
	if errno := root(w.root).named(&p, l.path, l.path); errno != 0 {
		return
	}
	s := sighted(sandbox.SawCommand, p, sandbox.ExecVerdict{}, "")
	s.Path = l.path
	w.note.put(s, l.at)
}

// exists says whether there is something at a path inside a root directory.
func exists(root int, name string) (there, known bool) {
	fd, err := unix.Openat2(root, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch {
	case err == nil:
		_ = unix.Close(fd)
		return true, true
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return false, true
	}
	return false, false
}
