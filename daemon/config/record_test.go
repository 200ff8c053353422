package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRecordSettings(t *testing.T) {
	for text, want := range map[string]Record{
		"":                                     {Size: 512 << 20, Free: 1 << 30, Logs: 64 << 20},
		"record: {size: 2GiB, keep: 90d}":      {Size: 2 << 30, Keep: 90 * 24 * time.Hour, Free: 1 << 30, Logs: 64 << 20},
		"record: {free: 256MiB, keep: 12h}":    {Size: 512 << 20, Keep: 12 * time.Hour, Free: 256 << 20, Logs: 64 << 20},
		"record: {free: none, logs: none}":     {Size: 512 << 20},
		"record: {size: none, logs: 1MiB}":     {Free: 1 << 30, Logs: 1 << 20},
		"record: {}":                           {Size: 512 << 20, Free: 1 << 30, Logs: 64 << 20},
		"version: 1\nrecord: {size: 1048576B}": {Size: 1 << 20, Free: 1 << 30, Logs: 64 << 20},
	} {
		s, err := ParseSettings("config.yaml", []byte(text), false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, s.Record); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"record: {size: 5}", "record: {size: 1KiB}", "record: {keep: 0d}", "record: {keep: -1d}", "record: {keep: 90 days}", "record: {sise: 1GiB}"} {
		if _, err := ParseSettings("config.yaml", []byte(text), false); err == nil {
			t.Errorf("%s: is taken", text)
		}
	}
}
