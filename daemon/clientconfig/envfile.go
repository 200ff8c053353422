package clientconfig

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/joho/godotenv"
)

// maxEnvFile bounds a file of variables, in bytes.
const maxEnvFile = 1 << 20

// readEnvFile is Host.Read of this machine.
func readEnvFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err == nil && len(data) > maxEnvFile {
		err = fmt.Errorf("it is longer than %d bytes", maxEnvFile)
	}
	return data, err
}

// fileOfVariables adds the variables of an entry's envFile. What the entry itself says of one counts.
func (d *draft) fileOfVariables() string {
	if d.e.envFile == "" {
		return ""
	}
	p, why := d.envFilePath()
	if why != "" {
		return why
	}
	if d.j.host.Look(p).Kind == Missing {
		return fmt.Sprintf("its variables are in %s (envFile), which is not there", show(p))
	}
	if d.j.host.Read == nil {
		return fmt.Sprintf("its variables are in %s (envFile), which cannot be read", show(p))
	}
	data, err := d.j.host.Read(p)
	if err != nil {
		return fmt.Sprintf("its variables are in %s (envFile), which cannot be read", show(p))
	}
	found, err := godotenv.UnmarshalBytes(data)
	if err != nil { // whose text may quote the file
		return fmt.Sprintf("its variables are in %s (envFile), which is not a list of NAME=VALUE", show(p))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.ContainsFunc(d.e.env, func(v variable) bool { return v.name == name }) {
			d.e.env = append(d.e.env, variable{name, found[name], true})
		}
	}
	d.warn("its variables in %s are taken over as they are now; a later change of that file has no effect", show(p))
	return ""
}

// envFilePath is where the file is. A settings file, which may be a stranger's, is not given what lies where
// keys are kept.
func (d *draft) envFilePath() (p, why string) {
	p, missing := d.j.scope.expand(d.e.envFile)
	if len(missing) > 0 {
		return "", fmt.Sprintf("its variables are in %s (envFile), and nothing says where that is", show(d.e.envFile))
	}
	if rest, ok := cutHome(p); ok {
		p = filepath.Join(d.j.host.Home, rest)
	}
	if !filepath.IsAbs(p) {
		base := d.e.cwd
		if !filepath.IsAbs(base) {
			base = d.j.scope.project
		}
		if base == "" {
			return "", fmt.Sprintf("its variables are in %s (envFile), which is relative, and nothing says to which folder; write the whole path", show(p))
		}
		p = filepath.Join(base, p)
	}
	p = filepath.Clean(p)
	for _, at := range []string{p, d.j.host.Look(p).Real} {
		if at == "" {
			continue
		}
		if d.j.host.Guard.Credential(at) || d.j.host.Guard.Refuse(at) != "" {
			return "", fmt.Sprintf("its variables are in %s (envFile), where keys are kept that are not its own", show(p))
		}
	}
	return p, ""
}

func cutHome(p string) (rest string, ok bool) {
	if p == "~" || len(p) > 1 && p[:2] == "~/" {
		return p[1:], true
	}
	return p, false
}

// plainValue is what nobody keeps secret: a word, a host, a path, an address.
var plainValue = regexp.MustCompile(`^(?:[a-z][a-z_-]{0,19}|(?:[a-z0-9-]+\.)+[a-z]{2,}(?::[0-9]{1,5})?|localhost(?::[0-9]{1,5})?|[0-9.]{7,15}(?::[0-9]{1,5})?|~?(?:/[A-Za-z0-9._-]+)+/?|https?://[^\s@]+)$`)

// plainText says whether a value of a file of variables is no secret by its looks.
func plainText(value string) bool {
	return plainValue.MatchString(value) && !secretValue(value)
}
