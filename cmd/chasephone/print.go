package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"chasephone/internal/telemetry"
)

// plain makes text from data safe for a terminal: no escape sequences, no line of its own,
// nothing that runs backwards.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case acts(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// acts reports whether a character does something to what is around it.
func acts(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u2028' || r == '\u2029'
}

// printJSON writes one indented JSON document. The characters that encoding/json leaves as
// they are and terminals act on are escaped too.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	var out strings.Builder
	for _, r := range b.String() {
		if acts(r) && r != '\n' { // of the indentation; in a string it is escaped by now
			_, _ = fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// table prints rows under a heading in columns.
func table(w io.Writer, heading string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, strings.ReplaceAll(heading, "|", "\t"))
	for _, cells := range rows {
		for i, cell := range cells {
			if cells[i] = plain(cell); cell == "" {
				cells[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// short cuts a text to a column's width.
func short(s string) string {
	const width = 40
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// parsed reads an instant as the store writes it; ok is false for an infinite one, and none.
func parsed(instant string) (t time.Time, ok bool) {
	t, err := time.Parse(time.RFC3339, instant)
	return t, err == nil
}

// instant shows an instant that the store wrote, without its fraction.
func instant(s string) string {
	if t, ok := parsed(s); ok {
		return when(t)
	}
	return s
}

// masked is a number as it was typed, with all digits but the last two hidden.
func masked(number string) string {
	hide := -2
	for _, r := range number {
		if unicode.IsDigit(r) {
			hide++
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			if hide--; hide >= 0 {
				return '*'
			}
		}
		return r
	}, number)
}

// veil hides one person's number wherever somebody has written it: in a name, a reason, the
// words. Other numbers stay: people who decide on words must be able to read them.
type veil struct {
	digits string
	all    bool // the number is in digits of another script: hide every number
}

// telling is how many digits in a row give a number away.
const telling = 7

func veilOf(number string) veil {
	foreign := func(r rune) bool { return unicode.IsDigit(r) && r >= utf8.RuneSelf }
	return veil{digits: digitsOf(number), all: strings.ContainsFunc(number, foreign)}
}

// text is s, fit for a terminal and without the number.
func (v veil) text(s string) string {
	if v.all || v.shares(digitsOf(s)) {
		s = telemetry.MaskText(s)
	}
	return plain(s)
}

func (v veil) shares(digits string) bool {
	for i := 0; i+telling <= len(v.digits); i++ {
		if strings.Contains(digits, v.digits[i:i+telling]) {
			return true
		}
	}
	return false
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// printer prints what is told line by line, and keeps the first error of the writer.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format+"\n", args...); err != nil {
		p.err = errors.Join(p.err, err)
	}
}
