package telemetry

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// NewLogger logs lines of at least the given level to w: in JSON where format is "json",
// and as key=value text otherwise.
//
// MaskText is applied to the message, the keys and every value that is a text or prints as one
// (errors, and whatever else slog prints by way of fmt or encoding/json). Such a value is
// logged as it would have been where nothing in it was masked, and as masked text otherwise.
// Numbers, times and durations are left alone: an integer here is a count, an id or an
// instant, and a telephone number has a type of its own.
func NewLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	asJSON := format == "json"
	options := &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			return slog.Attr{Key: MaskText(a.Key), Value: maskValue(a.Value, asJSON)}
		},
	}
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func maskValue(v slog.Value, asJSON bool) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(MaskText(v.String()))
	case slog.KindAny:
		return maskAny(v, asJSON)
	default:
		return v
	}
}

func maskAny(v slog.Value, asJSON bool) (masked slog.Value) {
	// A nil pointer in an interface, and any other fault of a value's own methods, must cost
	// the line its value and not the daemon its life. slog does the same, but after us.
	defer func() {
		if fault := recover(); fault != nil {
			masked = slog.StringValue(MaskText(fmt.Sprintf("!PANIC: %v", fault)))
		}
	}()
	var text string
	switch value := v.Any().(type) {
	case nil, slog.Level, *slog.Source:
		return v
	case error:
		return slog.StringValue(MaskText(value.Error()))
	case []byte:
		return slog.StringValue(MaskText(string(value))) // JSON would have it in base64
	default:
		text = printed(value, asJSON)
	}
	if clean := MaskText(text); clean != text {
		return slog.StringValue(clean)
	}
	return v
}

// printed is a value as the handler would print it.
func printed(value any, asJSON bool) string {
	if asJSON {
		if text, err := json.Marshal(value); err == nil {
			return string(text)
		}
	} else if marshaler, ok := value.(encoding.TextMarshaler); ok {
		if text, err := marshaler.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprintf("%+v", value)
}
