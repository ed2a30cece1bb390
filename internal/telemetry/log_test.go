package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"chasephone/internal/phone"
	"chasephone/internal/telemetry"
)

const number = "+14155550123"

type contact struct {
	Phone *string // text logs print the pointer, JSON what it points to
	Note  string
}

type broken struct{ why string }

func (b *broken) Error() string { return b.why } // a nil one panics

// TestLoggerHidesNumbers hands a number to the logger in every way there is.
func TestLoggerHidesNumbers(t *testing.T) {
	t.Parallel()
	digits := number
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := telemetry.NewLogger(&out, slog.LevelDebug, format)
			log.With("with", number).WithGroup("group").Info("calling "+number,
				"string", number,
				"error", fmt.Errorf("placing: %w", errors.New(number+" is not valid")),
				"bytes", []byte(number),
				"list", []string{"a", number},
				"map", map[string]string{number: "x"},
				"struct", contact{&digits, number},
				"url", &url.URL{Scheme: "https", Host: "x", RawQuery: url.Values{"To": {number}}.Encode()},
				"stringer", time.FixedZone(number, 0),
				"number", phone.FromE164(number),
				"raw", json.RawMessage(`{"to":"`+number+`"}`),
				slog.Group("inner", "deep", number),
				number, "as a key",
			)
			if text := out.String(); strings.Contains(text, "4155550") || !strings.Contains(text, "********23") {
				t.Errorf("logged %s", text)
			}
			if format == "json" && !json.Valid(out.Bytes()) {
				t.Errorf("not JSON: %s", out.String())
			}
		})
	}
}

// TestLoggerLeavesTheRest: what is no number is logged as slog logs it.
func TestLoggerLeavesTheRest(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var got, want bytes.Buffer
		plain := slog.New(slog.NewTextHandler(&want, nil))
		if format == "json" {
			plain = slog.New(slog.NewJSONHandler(&want, nil))
		}
		record := slog.NewRecord(time.Date(2024, 1, 2, 15, 4, 5, 999999999, time.UTC), slog.LevelWarn, "tick 12 took 1.234567891s", 0)
		record.Add(
			"id", "12345678-1234-4123-8123-123456789012", "slot", 1704207845, "bytes", int64(12345678901), "due", time.Date(2024, 1, 2, 0, 0, 0, 1, time.UTC),
			"took", 1234567891*time.Nanosecond, "rate", 1234567.25, "ok", true, "nil", nil, "list", []string{"a", "b"}, "struct", struct{ A int }{3},
			"level", slog.LevelError, "error", errors.New("SQLSTATE 23505"),
		)
		for _, handler := range []slog.Handler{telemetry.NewLogger(&got, slog.LevelInfo, format).Handler(), plain.Handler()} {
			if err := handler.Handle(t.Context(), record); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != want.String() {
			t.Errorf("%s:\n got %s\nwant %s", format, got.String(), want.String())
		}
	}
}

func TestLoggerSurvivesBrokenValues(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var none *broken
	telemetry.NewLogger(&out, slog.LevelInfo, "text").Info("still here", "error", none, "func", func() {}, "chan", make(chan int))
	telemetry.NewLogger(&out, slog.LevelInfo, "json").Info("still here", "error", none, "func", func() {})
	if n := strings.Count(out.String(), "still here"); n != 2 {
		t.Errorf("%d lines of 2: %s", n, out.String())
	}
}

func TestLoggerLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, slog.LevelWarn, "text")
	log.Info("quiet")
	log.Warn("loud")
	if text := out.String(); strings.Contains(text, "quiet") || !strings.Contains(text, "level=WARN msg=loud") {
		t.Errorf("logged %s", text)
	}
}
