package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"chasephone/internal/carrier"
)

// instant is a carrier in this process that takes every call at once.
type instant struct{ calls atomic.Int64 }

func (*instant) Name() string            { return accountName }
func (*instant) Fits(string) bool        { return true }
func (*instant) CallsPerSecond() float64 { return 0 }

func (i *instant) Place(context.Context, carrier.Call) carrier.Answer {
	return carrier.Placed{CallID: fmt.Sprintf("CA%032x", i.calls.Add(1)), Status: "queued"}
}
