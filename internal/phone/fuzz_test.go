package phone

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// FuzzPrinted: whatever a number was typed as, nothing that prints it shows it, whole or but for a
// few digits.
func FuzzPrinted(f *testing.F) {
	for _, s := range []string{"+14155550123", "(415) 555-0123 x44", "+431111", "+870773111632", "0199001234", "+33 1 99 00 12 34,,5#", "\uff0b\uff14\uff14", "+4930123456789"} {
		f.Add(s, "US", "%v")
		f.Add(s, "FR", "%+#x %[1]q %08d %s")
	}
	f.Fuzz(func(t *testing.T, raw, region, verbs string) {
		id, problem := Parse(raw, region)
		if problem != "" {
			if id.Number != (Number{}) || id.Extension != "" || problem.Sentence() == "" || strings.Contains(problem.Sentence(), raw) && len(raw) > 8 {
				t.Errorf("%q in %q: %s, and %+v", raw, region, problem, id)
			}
			return
		}
		var logged bytes.Buffer
		slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "n", id.Number, "id", id, "err", fmt.Errorf("about %v: %w", id, errors.New("x")))
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "n", id.Number, "all", []Number{id.Number})
		encoded, err := json.Marshal(map[string]any{"n": id.Number, "id": id})
		if err != nil {
			t.Fatal(err)
		}
		verbs = strings.ReplaceAll(verbs, "*", "") // a width that is taken from the number
		part := strings.TrimPrefix(id.Number.E164(), "+")
		if part = part[:len(part)-2]; len(part) < 7 || strings.Contains(id.Extension, part) {
			return // by accident it may stand anywhere
		}
		for _, shown := range []string{
			logged.String(), string(encoded), fmt.Sprintf("%v %+v %#v %s %q %x %d", id.Number, id, &id, id.Number, id.Number, id.Number, id.Number), fmt.Sprint(struct{ n Number }{id.Number}),
			fmt.Sprintf("%"+strings.TrimPrefix(strings.Map(justOne, verbs), "%"), id.Number),
		} {
			// All but two may not be there, in figures or in hexadecimal.
			if strings.Contains(shown, part) || strings.Contains(shown, fmt.Sprintf("%x", part)) {
				t.Errorf("%q in %q shows in %q", raw, region, shown)
			}
		}
		if v, err := id.Number.Value(); err == nil {
			t.Errorf("%v can be stored by accident", v)
		}
	})
}

// justOne keeps what a verb of fmt is made of, but for figures, which would be a width.
func justOne(r rune) rune {
	if strings.ContainsRune("+-# vTtbcdoOqxXUeEfFgGsp", r) {
		return r
	}
	return -1
}
