package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// event is a line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string `json:",omitempty"`
	Output  string `json:",omitempty"`
}

func emit(action, test, output string) {
	line, err := json.Marshal(event{action, "conformance", test, output})
	if err == nil {
		fmt.Println(string(line))
	}
}

// passed and failedWith say how one thing ended.
func (s *stage) passed(test string) { emit("pass", test, "") }

func (s *stage) failedWith(test, why string) {
	s.failed = true
	emit("output", test, "    "+strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n    ")+"\n")
	emit("fail", test, "")
}

// result says how a thing ended that failed if there was an error.
func (s *stage) result(test string, err error) {
	if err != nil {
		s.failedWith(test, err.Error())
		return
	}
	s.passed(test)
}

// table prints rows under their heads.
func table(rows [][]string) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}
