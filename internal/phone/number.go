// Package phone holds the one identity a telephone number has here, however it was
// typed, and keeps it out of logs: a Number prints masked in every verb.
package phone

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"unique"
)

// Number is an E.164 telephone number such as +14155550123. The zero Number is no number.
// Numbers are compared with ==.
//
// It has no String method on purpose: everything that prints it (fmt, slog, errors, encoders)
// gets the masked form, and only E164 gives the digits away. The digits are held by a handle
// and not as text, because fmt walks the unexported fields of others by reflection, where it
// cannot call Format: there it prints the handle's address.
type Number struct{ e164 unique.Handle[string] }

// FromE164 wraps a number that is known to be in E.164 form: one read back from the database.
// What a person or another system typed goes through Parse.
func FromE164(e164 string) Number {
	if e164 == "" {
		return Number{}
	}
	return Number{unique.Make(e164)}
}

// E164 is the number itself, for the carrier and the database only.
func (n Number) E164() string {
	if n.IsZero() {
		return ""
	}
	return n.e164.Value()
}

// IsZero reports whether there is no number.
func (n Number) IsZero() bool { return n == Number{} }

// Masked is the number with all but its last two digits hidden: "+*********23".
func (n Number) Masked() string { return mask(n.E164()) }

// Format prints the masked number for every verb.
func (n Number) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, n.Masked()) }

// LogValue logs the masked number.
func (n Number) LogValue() slog.Value { return slog.StringValue(n.Masked()) }

// MarshalText encodes the masked number, so that no encoder gives the digits away.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.Masked()), nil }

// Value refuses to be a query's argument: a masked number in a column would be lost for good.
func (n Number) Value() (driver.Value, error) {
	return nil, errors.New("a phone.Number cannot be stored as it is: pass its E164()")
}

func mask(s string) string {
	const shown = 2
	out := []rune(s)
	for i := range out {
		if i < len(out)-shown && out[i] >= '0' && out[i] <= '9' {
			out[i] = '*'
		}
	}
	return string(out)
}
