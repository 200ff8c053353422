// Garita-init is PID 1 of every sandbox. It receives what to run and the files that become the
// server's stdio over a private socket, starts the server with exactly those, reaps orphans,
// forwards signals, and ends the sandbox when the server ends or the lifeline to the daemon does.
//
// It runs with the server's uid, so it makes itself undumpable: the server can neither trace it
// nor look into its descriptors, and the kernel protects PID 1 from the signals of its own
// namespace. The server inherits neither the socket nor the lifeline.
package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// socketPath is where the engine binds the private socket inside the sandbox.
const socketPath = "/.garita/socket"

// drain is what a server gets between the end of the lifeline and the end of the sandbox.
const drain = 5 * time.Second

func main() { os.Exit(run()) }

func run() int {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return complain("make itself undumpable: " + err.Error())
	}
	engine, launch, files, err := receive(socketPath)
	if err != nil {
		return complain("receive what to run: " + err.Error())
	}
	if err := listen(launch.Listen, files); err != nil {
		return refuse(engine, err)
	}
	if launch.Await {
		if launch.Env, err = await(files.lifeline, launch.Env, secretsDir); err != nil {
			return refuse(engine, err)
		}
	}
	pid, err := start(launch, files)
	if err != nil {
		return refuse(engine, err)
	}
	s := &server{pid: pid, engine: engine}
	s.report(started())
	go s.forwardSignals()
	go s.holdLifeline(files.lifeline, drain)
	return s.reap()
}

func complain(text string) int {
	_, _ = os.Stderr.WriteString("garita-init: " + text + "\n")
	return 127
}
