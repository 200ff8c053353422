package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

// An agent that keeps swapping a directory for a link while everything here looks at it: nothing
// outside is read into a diff, written or removed.
func TestSwappingUnderOurHands(t *testing.T) {
	d := newDesk(t, "d/a=host", "d/b=host").mount()
	outside := filepath.Dir(d.host) + "/outside"
	d.put(outside, "a=precious")
	d.put(outside, "b=precious")
	stop := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.RemoveAll(d.merged + "/d")
			if i%2 == 0 {
				_ = os.Symlink(outside, d.merged+"/d")
				continue
			}
			_ = os.Mkdir(d.merged+"/d", 0o755)
			_ = os.WriteFile(d.merged+"/d/a", []byte("agent"), 0o644)
		}
	})
	ctx := context.Background()
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		m, err := d.store.Mark(ctx, id)
		d.must(err)
		_, err = d.store.Since(ctx, id, m)
		d.must(err)
		files, err := d.store.Diff(ctx, id)
		d.must(err)
		for _, f := range files {
			if strings.Contains(f.Unified, "precious") {
				t.Fatalf("the diff of %s shows what lies outside:\n%s", f.Path, f.Unified)
			}
		}
		_, _, err = d.store.Apply(ctx, id, nil)
		d.must(err)
		_, _, err = d.store.Discard(ctx, id, nil)
		d.must(err)
	}
	close(stop)
	agent.Wait()
	want := map[string]string{"a": `file -rw-r--r-- "precious"`, "b": `file -rw-r--r-- "precious"`}
	if diff := cmp.Diff(wholeTree(t, outside), want); diff != "" {
		t.Errorf("outside (-got +want):\n%s", diff)
	}
	if left, _ := filepath.Glob(d.host + "/.garita-*"); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
}

// The attributes by which overlayfs keeps its state cannot be set from inside.
func TestForgedOverlayAttributes(t *testing.T) {
	d := newDesk(t, "d/a=1", "f=2").mount()
	for name, value := range map[string]string{
		"user.overlay.opaque": "y", "user.overlay.redirect": "/../../../etc", "user.overlay.metacopy": "",
		"user.overlay.whiteout": "y", "user.overlay.origin": "x",
	} {
		for _, path := range []string{"d", "f"} {
			_ = unix.Setxattr(d.merged+"/"+path, name, []byte(value), 0)
		}
	}
	if err := unix.Mknod(d.merged+"/w", unix.S_IFCHR, 0); err == nil {
		t.Error("a whiteout was made by hand")
	}
	check := func(when string) {
		t.Helper()
		if diff := cmp.Diff(words(d.changes()), []string{}); diff != "" {
			t.Errorf("%s (-got +want):\n%s", when, diff)
		}
		if data, err := os.ReadFile(d.merged + "/d/a"); string(data) != "1" {
			t.Errorf("%s, d/a reads %q, %v", when, data, err)
		}
	}
	check("mounted")
	d.unmount()
	d.mount()
	check("mounted again")
}

// Whatever lies in the upper directory, nothing blocks and nothing is missed.
func TestOddEntries(t *testing.T) {
	d := newDesk(t, "a=1").mount()
	d.must(unix.Mkfifo(d.merged+"/fifo", 0o666))
	d.must(os.Remove(d.merged + "/a"))
	d.must(unix.Mkfifo(d.merged+"/a", 0o666))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	d.must(err)
	d.must(unix.Bind(fd, &unix.SockaddrUnix{Name: d.merged + "/socket"}))
	d.must(unix.Close(fd))
	d.put(d.merged, "secret=x")
	d.must(os.Chmod(d.merged+"/secret", 0))
	deep := d.merged
	d.must(os.Chdir(deep))
	defer os.Chdir("/")
	for range 30 {
		name := strings.Repeat("n", 200)
		d.must(os.Mkdir(name, 0o755))
		d.must(os.Chdir(name))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	files, err := d.store.Diff(ctx, id)
	d.must(err)
	held := 0
	for _, f := range files {
		if f.Held != "" {
			held++
		}
	}
	if held < 4 {
		t.Errorf("held %d of %d", held, len(files))
	}
	m := d.mark()
	if got := d.since(m); len(got) == 0 {
		t.Error("a path too long to look at does not count as changed")
	}
	_, left := d.apply()
	if len(left) < 4 {
		t.Errorf("left %v", words(left))
	}
	if data, err := os.ReadFile(d.host + "/secret"); string(data) != "x" {
		t.Errorf("the file without permissions reads %q, %v", data, err)
	}
	d.must(os.Chdir("/"))
	d.unmount()
	d.must(d.store.Remove(id))
}

// A file that is written all the time is applied whole or not at all.
func TestApplyWhileWritten(t *testing.T) {
	d := newDesk(t, "a=").mount()
	stop := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(d.merged+"/a", bytes.Repeat([]byte{'a' + byte(i%20)}, 300<<10), 0o644)
			}
		}
	})
	for range 50 {
		_, _, err := d.store.Apply(context.Background(), id, nil)
		d.must(err)
		data, err := os.ReadFile(d.host + "/a")
		d.must(err)
		if len(data) > 0 && bytes.Count(data, data[:1]) != len(data) {
			t.Fatal("torn")
		}
	}
	close(stop)
	agent.Wait()
}

// crashDir is set in the copy of the test binary that is killed while it applies.
const crashDir = "GARITA_TEST_CRASH"

func TestCrashWhileApplying(t *testing.T) {
	if base := os.Getenv(crashDir); base != "" {
		applyAndDie(t, base)
		return
	}
	for round := range 3 {
		d := newDesk(t)
		const n = 30
		for i := range n {
			d.put(d.host, fmt.Sprintf("m%d=old", i))
			d.put(d.host, fmt.Sprintf("x%d=old", i))
		}
		d.mount()
		for i := range n {
			d.put(d.merged, fmt.Sprintf("m%d=fresh", i))
			d.put(d.merged, fmt.Sprintf("n/n%d=fresh", i))
			d.must(os.Remove(fmt.Sprintf("%s/x%d", d.merged, i)))
		}
		want := wholeTree(t, d.merged)
		d.unmount()
		killApply(t, filepath.Dir(d.host), time.Duration(round*25+5)*time.Millisecond)
		for path, text := range wholeTree(t, d.host) {
			if strings.HasPrefix(path, ".garita-") || strings.HasPrefix(path, "n/.garita-") {
				continue
			}
			if strings.HasPrefix(text, "file") && !strings.Contains(text, "old") && !strings.Contains(text, "fresh") {
				t.Errorf("%s is neither old nor new: %s", path, text)
			}
		}
		d.reopen()
		if _, left := d.apply(allPaths(d.changes())...); len(left) > 0 {
			t.Errorf("left %v", words(left))
		}
		if diff := cmp.Diff(wholeTree(t, d.host), want); diff != "" {
			t.Errorf("applied again (-got +want):\n%s", diff)
		}
	}
}

func allPaths(changes []sandbox.Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Path)
	}
	return all
}

func applyAndDie(t *testing.T, base string) {
	s, err := OpenAt(base+"/data", base+"/run")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	_, _, err = s.Apply(context.Background(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func killApply(t *testing.T, base string, after time.Duration) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestCrashWhileApplying$")
	cmd.Env = append(os.Environ(), crashDir+"="+base)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 16)) // it is about to begin
	<-time.After(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// A file found equal and rewritten through an old mapping is a change again.
func TestMappedWriteAfterEqual(t *testing.T) {
	d := newDesk(t, "a=1").mount()
	f, err := os.OpenFile(d.merged+"/a", os.O_RDWR, 0)
	d.must(err)
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	d.must(err)
	page[0] = '2'
	page[0] = '1'
	if got := words(d.changes()); len(got) > 0 {
		t.Fatalf("equal, but %v", got)
	}
	page[0] = '3'
	if diff := cmp.Diff(words(d.changes()), []string{"modified file a"}); diff != "" {
		t.Error(diff)
	}
	d.must(unix.Munmap(page))
	d.must(f.Close())
}

// More than can be looked at: no call passes, the mount goes all the same, and everything can be
// discarded.
func TestTooManyEntries(t *testing.T) {
	d := newDesk(t, "a=1").mount()
	w := d.store.open[id]
	w.folders[0].tree.limits.entries = 100
	for i := range 200 {
		d.put(d.merged, fmt.Sprintf("n%d=x", i))
	}
	ctx := context.Background()
	if _, err := d.store.Mark(ctx, id); !errdefs.IsResourceExhausted(err) {
		t.Errorf("mark: %v", err)
	}
	if _, err := d.store.Changes(ctx, id); !errdefs.IsResourceExhausted(err) {
		t.Errorf("changes: %v", err)
	}
	if _, _, err := d.store.Discard(ctx, id, nil); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("discard while mounted: %v", err)
	}
	d.unmount()
	if _, _, err := d.store.Mount(id, []string{d.host}); !errdefs.IsResourceExhausted(err) {
		t.Errorf("mount: %v", err)
	}
	d.discard()
	d.mount()
	if diff := cmp.Diff(wholeTree(t, d.merged), wholeTree(t, d.host)); diff != "" {
		t.Error(diff)
	}
}

// Every state a crash can leave a temporary name in, and what becomes of it.
func TestRecoverInterruptedApply(t *testing.T) {
	for name, c := range map[string]struct {
		files []string // after the crash; T is the temporary name
		begun func(d *desk, l *journalLine)
		want  map[string]string
	}{
		"written, not yet in place": {
			[]string{"a=old", "T=new"},
			func(d *desk, l *journalLine) { l.Expect, l.Ino = d.stat("a"), d.stat("T").Ino },
			map[string]string{"a": "old"},
		},
		"half written": {
			[]string{"a=old", "T=ne"},
			func(d *desk, l *journalLine) { l.Expect = d.stat("a") },
			map[string]string{"a": "old"},
		},
		"exchanged": {
			[]string{"a=new", "T=old"},
			func(d *desk, l *journalLine) { l.Expect, l.Ino = d.stat("T"), d.stat("a").Ino },
			map[string]string{"a": "new"},
		},
		"exchanged with what somebody had just saved": {
			[]string{"a=new", "T=saved", "was=old"},
			func(d *desk, l *journalLine) { l.Expect, l.Ino = d.stat("was"), d.stat("a").Ino },
			map[string]string{"a": "saved", "was": "old"},
		},
		"moved away to be deleted": {
			[]string{"T=old"},
			func(d *desk, l *journalLine) { l.Expect, l.Delete = d.stat("T"), true },
			map[string]string{},
		},
		"moved away, but somebody had just saved it": {
			[]string{"T=saved", "was=old"},
			func(d *desk, l *journalLine) { l.Expect, l.Delete = d.stat("was"), true },
			map[string]string{"a": "saved", "was": "old"},
		},
		"new, not yet in place": {
			[]string{"T=new"},
			func(d *desk, l *journalLine) { l.Ino = d.stat("T").Ino },
			map[string]string{},
		},
		"half written, and somebody has removed the old": {
			[]string{"T=ne", "was=old"},
			func(d *desk, l *journalLine) { l.Expect = d.stat("was") },
			map[string]string{"was": "old"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.files...).mount()
			line := journalLine{Path: "a", Temp: "T"}
			c.begun(d, &line)
			f := d.store.open[id].folders[0]
			j, err := openJournal(f.journal())
			d.must(err)
			d.must(j.add(spot{raw: "a", expect: line.Expect}, line.Temp, line.Ino, line.Delete))
			d.must(j.f.Close())
			d.must(f.recover())
			got := map[string]string{}
			for path := range wholeTree(t, d.host) {
				data, err := os.ReadFile(d.host + "/" + path)
				d.must(err)
				got[path] = string(data)
			}
			if diff := cmp.Diff(got, c.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

func (d *desk) stat(path string) stat {
	d.t.Helper()
	var st unix.Stat_t
	d.must(unix.Lstat(d.host+"/"+path, &st))
	return statOf(&st)
}

// A call under way while the person discards is not said to have done that.
func TestDiscardIsNobodysEffect(t *testing.T) {
	d := newDesk(t).mount()
	for i := range 100 {
		d.put(d.host, fmt.Sprintf("d%d/f=host", i%10))
		d.put(d.merged, fmt.Sprintf("d%d/n%d=agent", i%10, i))
		d.put(d.merged, fmt.Sprintf("d%d/f=agent", i%10))
	}
	d.changes()
	m := d.mark()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, _, err := d.store.Discard(context.Background(), id, nil); err != nil {
			t.Error(err)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if got := d.since(m); len(got) > 0 {
			t.Fatalf("a call is said to have changed %v", got[0])
		}
	}
}

// Everything at once, for the race detector.
func TestCallsOverlap(t *testing.T) {
	d := newDesk(t, "a=1", "d/b=2").mount()
	ctx := context.Background()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for i := range 20 {
				m, err := d.store.Mark(ctx, id)
				if err == nil {
					d.put(d.merged, fmt.Sprintf("d/n%d=x", i))
					_, err = d.store.Since(ctx, id, m)
				}
				if err == nil {
					_, err = d.store.Diff(ctx, id)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for range 10 {
			if _, _, err := d.store.Apply(ctx, id, nil); err != nil {
				t.Error(err)
			}
			if _, _, err := d.store.Discard(ctx, id, nil); err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		for range 10 {
			_, release, err := d.store.Mount(id, []string{d.host})
			if err == nil {
				err = release()
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
}

// A host folder that is gone: its changes can be looked at and discarded, and nothing is applied.
func TestHostFolderIsGone(t *testing.T) {
	d := newDesk(t, "a=1", "d/b=2").mount()
	d.put(d.merged, "n/m=1")
	d.put(d.merged, "d/b=3")
	d.must(os.Remove(d.merged + "/a"))
	d.unmount()
	d.must(os.Rename(d.host, d.host+".away"))
	if _, _, err := d.store.Apply(context.Background(), id, nil); err == nil {
		if _, err := os.Stat(d.host); err == nil {
			t.Error("apply made the folder again")
		}
	}
	if got := d.changes(); len(got) == 0 {
		t.Error("no change is shown")
	}
	d.discard()
	if got := words(d.changes()); len(got) > 0 {
		t.Errorf("still changed: %v", got)
	}
	d.must(os.Rename(d.host+".away", d.host))
	d.mount()
	if _, err := os.Stat(d.merged + "/n"); err == nil {
		t.Error("discarded, it is still there")
	}
}
