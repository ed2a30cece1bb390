package main

import (
	"context"
	"io"
)

// input is standard input for a command that must end when ctx does: a read from a terminal
// or a pipe ends for nothing else. Close it, so that nobody copies on for no reader.
func (p process) input(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, p.stdin)
		w.CloseWithError(err) // nil is the end of the input
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return r
}
