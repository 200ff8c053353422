package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// session is the scripted client's process, attached to one server.
type session struct {
	*process
	in  io.WriteCloser
	out *json.Decoder
}

// attach starts a client on one entry of the settings file.
func (s *stage) attach(name string) (*session, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "client", s.config, name)
	cmd.Env, cmd.Stderr = s.environment(), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	c := &session{process: p, in: in, out: json.NewDecoder(out)}
	hello, err := c.hear()
	if err != nil {
		return nil, fmt.Errorf("attach to %s: %w", name, err)
	}
	say("%s", hello.Text)
	return c, nil
}

// do gives an order and waits for what comes of it.
func (c *session) do(o order) (reply, error) {
	if err := json.NewEncoder(c.in).Encode(o); err != nil {
		return reply{}, err
	}
	return c.hear()
}

func (c *session) hear() (r reply, err error) {
	err = c.out.Decode(&r)
	return r, err
}

// leave ends the session as a client does, by closing its standard input.
func (c *session) leave() error {
	if c == nil {
		return nil
	}
	c.in.Close()
	select {
	case err := <-c.done:
		return err
	case <-time.After(15 * time.Second):
		return c.stop(time.Second)
	}
}
