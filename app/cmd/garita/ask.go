package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errDeclined is a person's no to a command's own question.
var errDeclined = errors.New("nothing was done")

// confirm asks a person y/N. yes, the flag, answers beforehand; without it and without a terminal
// nothing is done.
func (c *cli) confirm(command, question string, yes bool) error {
	if yes {
		return nil
	}
	if !c.asks {
		return usageError{command, errors.New("there is no terminal to ask at: give --yes")}
	}
	answer, err := c.prompt(question + " [y/N] ")
	if err != nil {
		return err
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return errDeclined
	}
	return nil
}

// prompt asks for one line.
func (c *cli) prompt(question string) (string, error) {
	printTo(c.err, "%s", question)
	line, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}
