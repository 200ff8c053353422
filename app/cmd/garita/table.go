package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// table aligns columns. Cells are made safe; paint, which may be nil, colors them afterwards, so
// that colors take no room.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = safe(cell)
	}
	t.rows = append(t.rows, cells)
}

// print writes the table. No column but the last is followed by fewer than two blanks.
func (t *table) print(w io.Writer, s style) {
	widths := t.widths()
	printRow(w, t.head, widths, func(_ int, cell string) string { return s.dim(cell) })
	for _, row := range t.rows {
		printRow(w, row, widths, func(_ int, cell string) string { return s.word(cell) })
	}
}

func (t *table) widths() []int {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func printRow(w io.Writer, row []string, widths []int, paint func(int, string) string) {
	var b strings.Builder
	for i, cell := range row {
		b.WriteString(paint(i, cell))
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
	}
	printTo(w, "%s\n", strings.TrimRight(b.String(), " "))
}
