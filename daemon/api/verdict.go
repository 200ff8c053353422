package api

import (
	"bytes"
	"io"
	"strings"
)

// A session that failed ends with a verdict: a byte no message can have, and why it failed. The
// client itself has been told by its protocol; this is for the program that runs as its server, which
// exits accordingly.
const verdictMark = 0

// maxVerdict bounds a verdict, in bytes.
const maxVerdict = 16 << 10

// EndFailed says on an attached connection, as the last thing, that the session has failed.
func EndFailed(w io.Writer, why string) error {
	_, err := w.Write(append([]byte{verdictMark}, why[:min(len(why), maxVerdict)]...))
	return err
}

// Carry copies a session's messages to w until its end, and returns the verdict, "" where the session
// did not fail.
func Carry(w io.Writer, r io.Reader) (verdict string, err error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		at := bytes.IndexByte(buf[:n], verdictMark)
		if at >= 0 {
			rest, err := io.ReadAll(io.LimitReader(r, maxVerdict))
			_, wrote := w.Write(buf[:at])
			return strings.ToValidUTF8(string(buf[at+1:n])+string(rest), "?"), firstError(wrote, err)
		}
		if _, wrote := w.Write(buf[:n]); wrote != nil {
			return "", wrote
		}
		if err != nil {
			return "", unlessEOF(err)
		}
	}
}

func unlessEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // as readers return it
		return nil
	}
	return err
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
