// Testcount reads test results on standard input, tells them to a person as they come, and keeps
// count of them across the steps of a check.
//
//	go test -json ./... | testcount -add FILE     one step: prints packages and failures, adds its counts to FILE
//	testcount -vitest REPORT -add FILE            the same for Vitest's JSON report
//	testcount -sum FILE                           prints "N passed, N failed, N skipped" and nothing else
//
// It exits 1 when a test failed, or when a step ran no test at all.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	add := flag.String("add", "", "file of counts to add to")
	vitest := flag.String("vitest", "", "Vitest's JSON report to read instead of standard input")
	sum := flag.String("sum", "", "file of counts to print")
	verbose := flag.Bool("skips", true, "name skipped tests and their reasons")
	flag.Parse()
	if err := run(*add, *vitest, *sum, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(1)
	}
}

func run(add, vitest, sum string, skips bool) error {
	if sum != "" {
		total, err := load(sum)
		if err != nil {
			return err
		}
		fmt.Println(total)
		return nil
	}
	n, err := read(vitest, skips)
	if err != nil {
		return err
	}
	if add != "" {
		if err := keep(add, n); err != nil {
			return err
		}
	}
	switch {
	case n.Failed > 0:
		return fmt.Errorf("%d failed", n.Failed)
	case n.Passed+n.Skipped == 0:
		return fmt.Errorf("no test ran")
	}
	return nil
}

func read(vitest string, skips bool) (counts, error) {
	if vitest == "" {
		return readGo(os.Stdin, os.Stdout, skips)
	}
	f, err := os.Open(vitest)
	if err != nil {
		return counts{}, err
	}
	defer f.Close()
	return readVitest(f)
}

// counts is how many tests ended in which way. A package that failed outside any test, by not
// compiling say, counts as one failed test.
type counts struct{ Passed, Failed, Skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.Passed, c.Failed, c.Skipped)
}

// load reads all the lines of a file of counts and adds them up.
func load(name string) (counts, error) {
	f, err := os.Open(name)
	if err != nil {
		return counts{}, err
	}
	defer f.Close()
	var total counts
	for {
		var c counts
		_, err := fmt.Fscanf(f, "%d passed, %d failed, %d skipped\n", &c.Passed, &c.Failed, &c.Skipped)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return counts{}, fmt.Errorf("read %s: %w", name, err)
		}
		total = counts{total.Passed + c.Passed, total.Failed + c.Failed, total.Skipped + c.Skipped}
	}
}

func keep(name string, c counts) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, c)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
