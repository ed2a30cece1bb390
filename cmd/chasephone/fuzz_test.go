package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"chasephone/internal/phone"
)

// FuzzImport: whatever a do-not-call file holds, every line that is not passed over is a number on
// the list or a line that is told, once, and no number is among what is told.
func FuzzImport(f *testing.F) {
	for _, file := range []string{
		"", "\ufeffnumber,name\r\n+14155550123,Ada\n", "# x\n\n\"(415) 555-0124\";b\n415 555 0125\tc", "\"\n", "\"+14155550123", ",\n;\n\t\n", "a1\nphone\n",
		"+14155550123\r+14155550124\n", "\xff\xfe+\x001\x00", "+14155550123\x00\n", strings.Repeat("4155550123", 500) + "\n4155550123", "\u2028+14155550123\u2029", "99999999999999999999999",
	} {
		f.Add(file, "US")
	}
	f.Fuzz(func(t *testing.T, file, region string) {
		var told bytes.Buffer
		var put []phone.Number
		i := importing{region: region, told: &told, put: func(n []phone.Number) (int, error) {
			put = append(put, n...)
			return len(n) / 2, nil
		}}
		if err := i.run(strings.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for no, line := range strings.Split(file, "\n") {
			line = line[:min(len(line), longestLine)] // of a longer one no more is looked at
			if raw := firstColumn(strings.TrimSuffix(line, "\r")); raw != "" && (no > 0 || !isHeading(raw)) {
				lines++
			}
		}
		if i.Read != len(put) || i.Added+i.Listed != i.Read || i.Read+i.Bad != lines {
			t.Errorf("%q: %+v of %d lines, %d put", file, i.imported, lines, len(put))
		}
		if n := strings.Count(told.String(), "\n"); n != i.Bad || !utf8.ValidString(told.String()) {
			t.Errorf("%q: %d bad, told %q", file, i.Bad, told.String())
		}
		for _, n := range put {
			if n.IsZero() {
				t.Errorf("%q: no number is put on the list", file)
			}
		}
	})
}

// FuzzMoment: what is typed as an instant is one that the database can hold, or is refused in a line.
func FuzzMoment(f *testing.F) {
	for _, s := range []string{"now", "+2h30m", "+-1h", "+9999999h", "2026-10-06T13:30:00-04:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "2026-02-30T00:00:00Z", "infinity", "+\n", "\xff"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		var m moment
		if err := m.UnmarshalText([]byte(s)); err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00\x1b") {
				t.Errorf("%q is refused by %q", s, err)
			}
			return
		}
		if at := m.from(now); at.Year() < 0 || at.Year() > 10000 || m.relative && at.Before(now) || at.Nanosecond()%1000 != 0 && !m.relative {
			t.Errorf("%q is %v", s, at)
		}
		var z timeZone
		if z.UnmarshalText([]byte(s)) == nil && z == "" {
			t.Errorf("%q is a time zone", s)
		}
	})
}
