package tick

import (
	"context"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// masking keeps numbers out of River's rows: what a worker fails with is stored there as it is,
// and may repeat what a carrier or a database said.
func masking(mask func(string) string) rivertype.Middleware {
	return river.WorkerMiddlewareFunc(func(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
		defer func() {
			if p := recover(); p != nil {
				panic(mask(fmt.Sprint(p)))
			}
		}()
		if err := work(ctx); err != nil {
			return masked{err, mask(err.Error())}
		}
		return nil
	})
}

// masked is an error that says what it may. It is still the error that it is.
type masked struct {
	error
	says string
}

func (m masked) Error() string { return m.says }
func (m masked) Unwrap() error { return m.error }
