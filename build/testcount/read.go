package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// key names a test, or a package when Test is empty.
type key struct{ pkg, test string }

// readGo counts tests, subtests included, and tells packages, skips and failures on out.
func readGo(in io.Reader, out io.Writer, skips bool) (counts, error) {
	var total counts
	said := map[key][]string{}  // output so far
	failed := map[string]bool{} // packages with a failed test
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			tell(&total, said, failed, out, line, skips)
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, fmt.Errorf("read test results: %w", err)
		}
	}
}

func tell(total *counts, said map[key][]string, failed map[string]bool, out io.Writer, line string, skips bool) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(out, line) // what the go command says itself
		return
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		if e.Action == "build-output" {
			fmt.Fprint(out, e.Output)
		}
		said[k] = append(said[k], e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			tellPackage(total, said, failed, out, e)
		} else {
			tellTest(total, said, failed, out, e, skips)
		}
		delete(said, k)
	}
}

func tellTest(total *counts, said map[key][]string, failed map[string]bool, out io.Writer, e event, skips bool) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "pass":
		total.Passed++
	case "skip":
		total.Skipped++
		if skips {
			fmt.Fprintf(out, "skip  %s %s: %s\n", e.Package, e.Test, reason(said[k]))
		}
	case "fail":
		total.Failed++
		failed[e.Package] = true
		fmt.Fprintf(out, "FAIL  %s %s (%.2f s)\n%s", e.Package, e.Test, e.Elapsed, strings.Join(said[k], ""))
	}
}

func tellPackage(total *counts, said map[key][]string, failed map[string]bool, out io.Writer, e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(out, "ok    %s (%.1f s)\n", e.Package, e.Elapsed)
	case "fail":
		if !failed[e.Package] {
			total.Failed++ // it did not compile, panicked, or ran out of time
		}
		fmt.Fprintf(out, "FAIL  %s (%.1f s)\n%s", e.Package, e.Elapsed, strings.Join(said[key{e.Package, ""}], ""))
	}
}

// reason is what a skipped test said, without the marks around it.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		said = append(said, line)
	}
	return strings.Join(said, " ")
}

// readVitest counts the tests of Vitest's JSON report, and the files that could not run.
func readVitest(in io.Reader) (counts, error) {
	var report struct {
		NumPassedTests, NumFailedTests, NumPendingTests, NumTodoTests int

		TestResults []struct {
			Status           string
			AssertionResults []struct{ Status string }
		}
	}
	if err := json.NewDecoder(in).Decode(&report); err != nil {
		return counts{}, fmt.Errorf("read Vitest's report: %w", err)
	}
	c := counts{Passed: report.NumPassedTests, Failed: report.NumFailedTests, Skipped: report.NumPendingTests + report.NumTodoTests}
	for _, file := range report.TestResults {
		if file.Status == "failed" && len(file.AssertionResults) == 0 {
			c.Failed++
		}
	}
	return c, nil
}
