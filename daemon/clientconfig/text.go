// Package clientconfig reads, repoints and puts back the settings of MCP clients.
//
// Reading is pure and trusts nothing: settings files come from READMEs, other programs and cloned
// repositories. Changing one replaces exactly the bytes of the entries that now go through Garita,
// after a backup; restoring puts those bytes back.
package clientconfig

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/containerd/errdefs"
)

// encoding is how a settings file's text is stored.
type encoding int

const (
	plain encoding = iota // UTF-8
	withBOM
	utf16LE // as PowerShell 5.1 writes
	utf16BE
)

var (
	bomUTF8 = []byte("\xef\xbb\xbf")
	bomLE   = []byte("\xff\xfe")
	bomBE   = []byte("\xfe\xff")
)

// decodeText returns data as UTF-8 without a byte order mark, and how to write it back. What would
// not come back byte for byte is refused (InvalidArgument).
func decodeText(data []byte) ([]byte, encoding, error) {
	text, enc := data, plain
	switch {
	case bytes.HasPrefix(data, bomUTF8):
		text, enc = data[len(bomUTF8):], withBOM
	case bytes.HasPrefix(data, bomLE):
		text, enc = fromUTF16(data[2:], binary.LittleEndian), utf16LE
	case bytes.HasPrefix(data, bomBE):
		text, enc = fromUTF16(data[2:], binary.BigEndian), utf16BE
	}
	if !utf8.Valid(text) {
		line, col := position(text, invalidAt(text))
		return nil, 0, fmt.Errorf("line %d, column %d: not UTF-8 text: %w", line, col, errdefs.ErrInvalidArgument)
	}
	if enc >= utf16LE && !bytes.Equal(encodeText(text, enc), data) {
		return nil, 0, fmt.Errorf("damaged UTF-16 text: %w", errdefs.ErrInvalidArgument)
	}
	return text, enc, nil
}

// encodeText is the inverse of decodeText.
func encodeText(text []byte, enc encoding) []byte {
	switch enc {
	case withBOM:
		return append(bytes.Clone(bomUTF8), text...)
	case utf16LE:
		return toUTF16(bomLE, text, binary.LittleEndian)
	case utf16BE:
		return toUTF16(bomBE, text, binary.BigEndian)
	default:
		return text
	}
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

func toUTF16(bom, text []byte, order binary.AppendByteOrder) []byte {
	out := bytes.Clone(bom)
	for _, unit := range utf16.Encode([]rune(string(text))) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// position is the line and column, in bytes from 1, of an offset.
func position(text []byte, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}
