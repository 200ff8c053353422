package config

import (
	"errors"
	"testing"
)

func TestResults(t *testing.T) {
	s, err := ParseSettings("config.yaml", []byte("results: {limit: 1MiB, kept: none, spotlight: true}\n"), false)
	if err != nil || s.Results != (Results{Limit: 1 << 20, Spotlight: true}) {
		t.Errorf("got %+v, %v", s.Results, err)
	}
	if s, err := ParseSettings("config.yaml", nil, false); err != nil || s.Results != (Results{Limit: resultsLimit, Kept: resultsKept}) {
		t.Errorf("without anything: %+v, %v", s.Results, err)
	}
	var p *Problem
	if _, err := ParseSettings("config.yaml", []byte("version: 1\nresults:\n  limit: 12\n"), false); !errors.As(err, &p) || p.Line != 3 {
		t.Errorf("a limit that is too small: %v", err)
	}
}
