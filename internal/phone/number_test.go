package phone

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

const (
	secret = "+14155550123"
	masked = "+*********23"
)

// digits are the part of the secret that no output may show.
const digits = "415555"

// holder keeps its number where fmt may look but not call methods.
type holder struct{ n Number }

func TestEveryVerbPrintsMasked(t *testing.T) {
	t.Parallel()
	n := FromE164(secret)
	for _, verb := range strings.Split("v,+v,#v,s,q,x,X,d,c,U,b,o,t,e,f,g,20v,-20s,.3s", ",") {
		if got := fmt.Sprintf("%"+verb, n); got != masked {
			t.Errorf("%%%s prints %q", verb, got)
		}
	}
	shapes := map[string]any{
		"pointer":       &n,
		"slice":         []Number{n},
		"map key":       map[Number]bool{n: true},
		"map value":     map[string]Number{"to": n},
		"identity":      Identity{Number: n},
		"hidden":        holder{n},
		"hidden deeper": []any{&holder{n}, map[string]holder{"x": {n}}},
	}
	for name, shape := range shapes {
		// %p and %!z reach a value past its Format method.
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%p", "%!z", "%[2]v"} {
			if got := fmt.Sprintf(verb, shape); strings.Contains(got, digits) {
				t.Errorf("%s with %s prints %s", name, verb, got)
			}
		}
	}
	for _, got := range []string{
		fmt.Sprint(n), fmt.Sprintln("to", n), fmt.Sprintf("%p", any(n)),
		fmt.Errorf("ring %v: %w", n, errors.New("busy")).Error(),
		fmt.Sprint(errors.Join(fmt.Errorf("ring %s", n))),
	} {
		if strings.Contains(got, digits) || strings.Contains(got, secret) {
			t.Errorf("prints %s", got)
		}
	}
}

func TestLogsAreMasked(t *testing.T) {
	t.Parallel()
	n := FromE164(secret)
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(h).With("with", n).Info("rung", "to", n, "pointer", &n, "all", []Number{n},
			"identity", Identity{Number: n}, "hidden", holder{n}, slog.Group("g", "to", n))
	}
	if strings.Contains(out.String(), digits) {
		t.Errorf("logged: %s", out.String())
	}
	if got := strings.Count(out.String(), masked); got != 2*6 {
		t.Errorf("masked %d times in: %s", got, out.String())
	}
}

func TestEncodersAreMasked(t *testing.T) {
	t.Parallel()
	n := FromE164(secret)
	type doc struct {
		To   Number
		By   map[Number]int
		Ptr  *Number
		none holder
	}
	b, err := json.Marshal(doc{n, map[Number]int{n: 1}, &n, holder{n}})
	if want := `{"To":"` + masked + `","By":{"` + masked + `":1},"Ptr":"` + masked + `"}`; err != nil || string(b) != want {
		t.Errorf("JSON: %s, %v", b, err)
	}
	if b, err = xml.Marshal(Identity{Number: n}); err != nil || bytes.Contains(b, []byte(digits)) {
		t.Errorf("XML: %s, %v", b, err)
	}
	var out bytes.Buffer
	_ = gob.NewEncoder(&out).Encode(n)
	if strings.Contains(out.String(), digits) {
		t.Errorf("gob: %q", out.String())
	}
	if err := json.Unmarshal([]byte(`{"Number":"`+masked+`"}`), new(Identity)); err == nil {
		t.Error("a masked number was read back as a number")
	}
}

// The database is given digits by name, never a Number by accident: not in the clear, and not masked.
func TestPgxRefusesANumber(t *testing.T) {
	t.Parallel()
	n := FromE164(secret)
	m := pgtype.NewMap()
	for _, arg := range []any{n, &n} {
		for _, oid := range []uint32{0, pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.JSONOID, pgtype.JSONBOID, pgtype.ByteaOID, pgtype.Int8OID} {
			for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
				if b, err := m.Encode(oid, format, arg, nil); err == nil {
					t.Errorf("oid %d, format %d: %q", oid, format, b)
				} else if strings.Contains(err.Error(), digits) {
					t.Errorf("oid %d: the error shows it: %v", oid, err)
				}
			}
		}
	}
	if b, err := m.Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, []Number{n}, nil); err == nil {
		t.Errorf("array: %q", b)
	}
	if b, err := m.Encode(pgtype.TextOID, pgtype.TextFormatCode, n.E164(), nil); err != nil || string(b) != secret {
		t.Errorf("digits: %q, %v", b, err)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	var none Number
	if !none.IsZero() || none.E164() != "" || none.Masked() != "" || fmt.Sprint(none) != "" || FromE164("") != none {
		t.Error("the zero number is not empty")
	}
	a, b := FromE164(secret), FromE164(strings.Clone(secret))
	if a != b || a.IsZero() || a.E164() != secret {
		t.Error("one number is two")
	}
	if _, prints := any(a).(fmt.Stringer); prints {
		t.Error("a Number has a String method")
	}
}
