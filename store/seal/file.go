package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

const (
	// usualWork makes a try of a passphrase take about a second, as age does it: log2 of scrypt's N.
	usualWork = 18
	// mostWork bounds what a file that is not of our making may have us do.
	mostWork = 19
	// maxFile bounds it, in bytes.
	maxFile = 16 << 10
)

// ErrPassphrase says that the file does not open with it.
var ErrPassphrase = errors.New("the passphrase is wrong")

// keyFile is a key in a file, encrypted by a passphrase: `age -d` opens it, too.
type keyFile struct {
	path string
	work int
}

func (f keyFile) exists() bool {
	_, err := os.Lstat(f.path)
	return err == nil
}

// make writes a file that has not been there.
func (f keyFile) make(k Key, passphrase string) error {
	text, err := f.encrypt(k, passphrase)
	if err != nil {
		return err
	}
	if back, err := decrypt(text, passphrase); err != nil || back.ID() != k.ID() { // all secrets hang on it
		return fmt.Errorf("what was written does not read back: %w", err)
	}
	new, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(new.Name())
	_, err = new.Write(text)
	if err := errors.Join(err, new.Sync(), new.Close()); err != nil {
		return err
	}
	return os.Link(new.Name(), f.path) // which does not replace one that has come meanwhile
}

func (f keyFile) encrypt(k Key, passphrase string) ([]byte, error) {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	to.SetWorkFactor(f.work)
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	in, err := age.Encrypt(armored, to)
	if err != nil {
		return nil, err
	}
	_, err = in.Write(append(k.encode(), '\n'))
	err = errors.Join(err, in.Close(), armored.Close())
	return out.Bytes(), err
}

// open reads the key. ErrPassphrase; FailedPrecondition when the file is not what it should be.
func (f keyFile) open(passphrase string) (Key, error) {
	text, err := f.read()
	if err != nil {
		return Key{}, err
	}
	k, err := decrypt(text, passphrase)
	if err != nil && !errors.Is(err, ErrPassphrase) {
		return Key{}, fmt.Errorf("%s cannot be read: %w: %w", f.path, err, errdefs.ErrFailedPrecondition)
	}
	return k, err
}

func decrypt(text []byte, passphrase string) (Key, error) {
	with, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return Key{}, err
	}
	with.SetMaxWorkFactor(mostWork)
	out, err := age.Decrypt(armor.NewReader(bytes.NewReader(text)), with)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return Key{}, ErrPassphrase
	}
	if err != nil {
		return Key{}, err
	}
	plain, err := io.ReadAll(io.LimitReader(out, maxFile))
	if err != nil {
		return Key{}, err
	}
	defer clear(plain)
	return decode(plain)
}

func (f keyFile) read() ([]byte, error) {
	file, err := os.OpenFile(f.path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is longer than a key", f.path)
	}
	return text, err
}

// putAside keeps the file under another name, and returns that: what it would open may turn up again.
func (f keyFile) putAside(now time.Time) (string, error) {
	aside := f.path + ".old-" + now.UTC().Format("20060102T150405.000000Z")
	return aside, os.Rename(f.path, aside)
}
