package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/app/record"
	"github.com/garita-dev/garita/daemon/api"
)

// exportPage is how many events are asked for at a time: an export of any length takes the memory of
// one page.
const exportPage = 500

func (c *cli) auditExportCommand() *cobra.Command {
	var format, since, session string
	var arguments bool
	cmd := &cobra.Command{
		Use: "export", Short: "Write the record as JSON Lines or OpenTelemetry spans", Args: usage(cobra.NoArgs),
		Long: "Write the record to standard output.\n\n" +
			"As jsonl, each event is a line of JSON. As otlp, each call that has ended is a span in OTLP/JSON, one request\n" +
			"of the trace service a line, as the OpenTelemetry Collector's file receiver reads it. Arguments of calls are\n" +
			"left out; --arguments adds them as the record has them, without their secrets.",
		Example: "  garita audit export --since 24h > yesterday.jsonl\n  garita audit export --format otlp --session s5a… > spans.jsonl",
	}
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or otlp")
	cmd.Flags().StringVar(&since, "since", "", "only what is younger: 90m, 24h, 7d, 2026-11-29 or a time in RFC 3339")
	cmd.Flags().StringVar(&session, "session", "", "only this session")
	cmd.Flags().BoolVar(&arguments, "arguments", false, "with the calls' arguments")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		from, err := parseSince(since, time.Now())
		if err != nil {
			return usageError{cmd.CommandPath(), err}
		}
		out := bufio.NewWriter(c.out)
		to, err := exporter(format, safeWriter{out}, arguments)
		if err != nil {
			return usageError{cmd.CommandPath(), err}
		}
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		err = c.eachEvent(cmd.Context(), api.AuditQuery{Session: session, Since: from}, to.Event)
		return errors.Join(err, to.Close(), out.Flush())
	}
	return cmd
}

func exporter(format string, to io.Writer, arguments bool) (record.Exporter, error) {
	switch format {
	case "jsonl":
		return record.Lines(to, arguments), nil
	case "otlp":
		return record.Spans(to, arguments), nil
	}
	return nil, fmt.Errorf("format %q: want jsonl or otlp", format)
}

// safeWriter writes JSON so that a terminal may show it. It is given whole lines.
type safeWriter struct{ to io.Writer }

func (w safeWriter) Write(p []byte) (int, error) {
	if _, err := w.to.Write(safeJSON(p)); err != nil {
		return 0, fmt.Errorf("write the export: %w", err)
	}
	return len(p), nil
}

// eachEvent hands on all events that q wants up to now, a page at a time.
func (c *cli) eachEvent(ctx context.Context, q api.AuditQuery, do func(api.AuditEvent) error) error {
	q.Limit = exportPage
	newest, err := c.client.AuditOf(ctx, api.AuditQuery{After: -1, Limit: 1})
	if err != nil || len(newest) == 0 {
		return err
	}
	for last := newest[0].Seq; q.After < last; {
		page, err := c.client.AuditOf(ctx, q)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if e.Seq > last { // it came meanwhile: an export has an end
				return nil
			}
			if err := do(e); err != nil {
				return err
			}
		}
		q.After = page[len(page)-1].Seq
	}
	return nil
}

// parseSince reads how far back: a duration before now, with d for days, a day, or a time. "" is the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if t, err := time.ParseInLocation("2006-01-02", text, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("since %q: want 90m, 24h, 7d, 2026-11-29 or a time in RFC 3339", text)
}
