package pgserver

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// serverLog passes PostgreSQL's standard error on, line by line, and remembers the last lines
// for the error that may follow.
type serverLog struct {
	to *slog.Logger

	mu   sync.Mutex
	rest []byte
	last []string
}

const rememberedLines = 20

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.rest = rest
		l.pass(string(line))
	}
}

func (l *serverLog) pass(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	l.last = append(l.last[max(0, len(l.last)-rememberedLines+1):], line)
	severity, text, ok := strings.Cut(line, ":  ")
	if !ok {
		severity, text = "", line
	}
	l.to.Log(context.Background(), level(severity), text)
}

func level(severity string) slog.Level {
	switch severity {
	case "PANIC":
		return slog.LevelError
	case "WARNING", "ERROR", "FATAL": // FATAL ends a session, not the server
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// tail is the last lines, in one.
func (l *serverLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "; ")
}
