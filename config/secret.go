package config

import (
	"fmt"
	"io"
	"log/slog"
)

// hidden is what stands where a secret would.
const hidden = "(hidden)"

// Secret is a value that nothing prints: fmt, slog and encoders get "(hidden)", or nothing
// where it is empty. Only Reveal gives it away.
type Secret struct{ value string }

// NewSecret hides a value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal is the secret itself, for the one who must present it.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.value == "" }

// Format prints the hidden form for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.shown()) }

// LogValue logs the hidden form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.shown()) }

// MarshalText encodes the hidden form.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.shown()), nil }

// UnmarshalText takes the text as it is; it never fails.
func (s *Secret) UnmarshalText(text []byte) error {
	s.value = string(text)
	return nil
}

func (s Secret) shown() string {
	if s.IsZero() {
		return ""
	}
	return hidden
}
