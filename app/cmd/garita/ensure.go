package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// ensureDaemon starts the user's daemon in a session of its own.
func ensureDaemon(_ context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	cmd := exec.Command(self, "daemon")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	return cmd.Process.Release()
}
