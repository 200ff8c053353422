// Package visitors has programs that reach the network as servers do, each in its own way: tests visit
// hosts with them from inside a sandbox, and the benchmark measures how soon each sees that it may not.
//
// All are run alike, by programs/run.sh, and answer alike (see there). Some come from a kit that
// `./task visitors` puts into build/cache/visitors: packages of npm, Deno, Bun, and what is compiled.
package visitors

import (
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed programs
var programs embed.FS

// Visitor is one program.
type Visitor struct {
	// Name is what run.sh calls it.
	Name string
	// Kit is the file of the kit, or Program that of the machine, without which it is not there; "" is none.
	Kit, Program string
	// Trusting is false for a program that believes no authority that it is told of by a variable.
	Trusting bool
	// Bearing is false for a program that is not given a token.
	Bearing bool
	// Measuring is true for a program that tells how long its request took, without its own start.
	Measuring bool
}

// All are the programs that there are, those of the kit too.
func All() []Visitor {
	plain := func(name string) Visitor {
		return Visitor{Name: name, Program: name, Trusting: true, Bearing: true}
	}
	script := func(name, program, kit string) Visitor {
		return Visitor{Name: name, Program: program, Kit: kit, Trusting: true, Bearing: true, Measuring: true}
	}
	all := []Visitor{
		script("curl", "curl", ""), script("curl-http1", "curl", ""), plain("wget"), plain("git"), plain("npm"),
		script("node-fetch", "node", ""), script("node-http", "node", ""),
		script("node-undici", "node", "node_modules/undici/package.json"),
		script("node-ws", "node", "node_modules/ws/package.json"),
		script("node-websocket", "node", ""),
		script("node-grpc", "node", "node_modules/@grpc/grpc-js/package.json"),
		script("deno", "", "bin/deno"), script("bun", "", "bin/bun"),
		script("python-urllib", "/usr/bin/python3", ""),
		script("python-requests", "/usr/lib/python3/dist-packages/requests/__init__.py", ""),
		script("python-httpx", "/usr/lib/python3/dist-packages/httpx/__init__.py", ""),
		script("python-aiohttp", "/usr/lib/python3/dist-packages/aiohttp/__init__.py", ""),
		script("python-websockets", "/usr/lib/python3/dist-packages/websockets/__init__.py", ""),
		script("pip", "/usr/share/python-wheels", ""),
		script("go", "", "bin/visit"), script("go-websocket", "", "bin/visit"), script("go-grpc", "", "bin/visit"),
		script("java", "java", "classes/Visit.class"),
		plain("chromium"),
	}
	for i, v := range all {
		switch v.Name {
		case "node-websocket", "pip":
			all[i].Bearing, all[i].Measuring = false, v.Name != "pip"
		case "chromium":
			all[i].Bearing = false // it has its own idea of whom to believe, and is told to believe anybody
		}
	}
	return all
}

// Raw are programs below HTTP: a TCP connection, and a datagram to a name server (port 53 where the URL has
// none). The second never succeeds behind the wall.
func Raw() []Visitor {
	return []Visitor{
		{Name: "go-tcp", Kit: "bin/visit", Measuring: true},
		{Name: "go-udp", Kit: "bin/visit", Measuring: true},
	}
}

// Missing says what is not there, of the machine or of the kit in that folder; "" is nothing.
func (v Visitor) Missing(kit string) string {
	if v.Program != "" {
		if _, err := os.Stat(v.Program); err != nil {
			if _, err := exec.LookPath(v.Program); err != nil {
				return v.Program
			}
		}
	}
	if v.Kit != "" {
		if _, err := os.Stat(filepath.Join(kit, v.Kit)); err != nil {
			return v.Kit + " in " + kit + " (./task visitors)"
		}
	}
	return ""
}

// Install writes run.sh and what it needs into a folder.
func Install(dir string) error {
	return fs.WalkDir(programs, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := programs.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o755) //nolint:gosec // programs, for everybody
	})
}
