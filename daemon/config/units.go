package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
)

// units are the suffixes of sizes, in bytes.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// parseSize reads "512MiB" or "1.5 GB" as bytes. A number without a unit is refused: it has been
// taken for megabytes by one and for bytes by the other.
func parseSize(s string) (int64, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || n <= 0 || math.IsNaN(n) || n*u.bytes > math.MaxInt64/2 {
			break
		}
		return int64(n * u.bytes), nil
	}
	return 0, fmt.Errorf("size %q: want a number and a unit, such as 512MiB: %w", s, errdefs.ErrInvalidArgument)
}

// formatSize writes bytes as parseSize reads them.
func formatSize(n int64) string {
	for i := 3; i >= 0; i-- {
		if unit := int64(units[i].bytes); n >= unit && n%unit == 0 {
			return strconv.FormatInt(n/unit, 10) + units[i].suffix
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// parseDuration reads "10m" or "12h"; zero and less are refused.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("duration %q: want a number and a unit, such as 10m: %w", s, errdefs.ErrInvalidArgument)
	}
	return d, nil
}

// formatDuration writes d without the zero parts time.Duration shows: "10m", not "10m0s".
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
