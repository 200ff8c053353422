package main

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/init/handoff"
)

const (
	// secretsDir is a tmpfs of the server's own user.
	secretsDir = "/run/secrets"
	// secretsTime is how long the daemon may take to send what the engine is not to see. It is less than
	// the engine waits, so that it hears why nothing was started.
	secretsTime = 15 * time.Second
)

// await takes the one Secret frame from the lifeline: its files are written below dir, its variables
// added to env. No error holds a value.
func await(lifeline *os.File, env []string, dir string) ([]string, error) {
	if err := lifeline.SetReadDeadline(time.Now().Add(secretsTime)); err != nil {
		return nil, errors.New("wait for secrets: " + err.Error())
	}
	kind, body, err := handoff.ReadFrame(lifeline)
	switch {
	case err != nil:
		return nil, errors.New("wait for secrets: none came: " + err.Error())
	case kind != handoff.Secret:
		return nil, errors.New("wait for secrets: something else came")
	}
	defer clear(body)
	if err := lifeline.SetReadDeadline(time.Time{}); err != nil {
		return nil, errors.New("wait for secrets: " + err.Error())
	}
	s, err := handoff.DecodeSecrets(body)
	if err != nil {
		return nil, err
	}
	return withVariables(env, s.Env), writeSecrets(dir, s.Files)
}

// withVariables is env with others before those of the same name.
func withVariables(env, others []string) []string {
	out := slices.Clone(others)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(others, func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			out = append(out, kv)
		}
	}
	return out
}

// writeSecrets writes files that only the server's user may read, and shuts the folders.
func writeSecrets(dir string, files []handoff.SecretFile) error {
	if len(files) == 0 {
		return nil
	}
	folders := []string{dir}
	for _, f := range files {
		if path.Clean(f.Path) != f.Path || !strings.HasPrefix(f.Path, dir+"/") {
			return errors.New("write a secret: its file is not below " + dir)
		}
		for d := path.Dir(f.Path); d != dir; d = path.Dir(d) {
			folders = append(folders, d)
		}
		if err := os.MkdirAll(path.Dir(f.Path), 0o700); err != nil {
			return err
		}
		if err := writeNew(f.Path, f.Content); err != nil {
			return err
		}
	}
	for _, d := range folders {
		if err := os.Chmod(d, 0o500); err != nil {
			return err
		}
	}
	return nil
}

func writeNew(file, content string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o400)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}
