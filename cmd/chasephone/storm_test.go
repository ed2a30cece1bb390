package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chasephone/internal/carrier/sim"
	"chasephone/internal/pgtest"
)

// Two thousand webhooks a second for ten seconds, at a daemon that goes on ringing two a slot:
// none is lost, and no slot is. It runs with make bench: what it says of time is of this machine.
func BenchmarkWebhookStorm(b *testing.B) {
	for range b.N {
		storm(b, 2000, 10*time.Second)
	}
}

func storm(b *testing.B, perSecond int, lasts time.Duration) {
	pool := pgtest.New(b)
	f := newFleetOn(b, pool.Config().ConnString(), pool, "PUBLIC_URL="+companyURL)
	d := f.daemon()
	f.due(100, "1 hour")
	f.wait("the first calls are placed", func() bool { return f.count(`select count(*) from attempts where outcome = 'placed'`) >= 4 })
	to := d.public(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512, MaxConnsPerHost: 512}}
	total := perSecond * int(lasts/time.Second)
	took, refused := make([]time.Duration, total), atomic.Int64{}
	b.ResetTimer()
	began := time.Now()
	var sending sync.WaitGroup
	for i := range total {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		sending.Go(func() {
			path := "/webhooks/twilio/status"
			form := url.Values{
				"AccountSid": {"AC00000000000000000000000000000001"}, "CallSid": {fmt.Sprintf("CA%032x", 1<<40+i/4)},
				"CallStatus": {[]string{"initiated", "ringing", "in-progress", "completed"}[i%4]}, "Direction": {"inbound"},
				"From": {fmt.Sprintf("+1415%07d", 3_000_000+i/4)}, "To": {"+12125550100"}, "Timestamp": {"Mon, 30 Nov 2026 10:00:00 +0000"},
			}
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, to+path, strings.NewReader(form.Encode()))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("X-Twilio-Signature", sim.Sign("secret", companyURL+path, form))
			sent := time.Now()
			resp, err := client.Do(r)
			took[i] = time.Since(sent)
			if err != nil || resp.StatusCode != http.StatusOK {
				refused.Add(1)
			}
			if err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	sending.Wait()
	b.StopTimer()
	sent := time.Since(began)
	if n := f.count(`select count(*) from tenant_twilio_events`); n != total || refused.Load() > 0 {
		b.Errorf("%d of %d kept, %d refused", n, total, refused.Load())
	}
	f.wait("all are bridged", func() bool {
		return f.count(`select count(*) from tenant_twilio_events where bridged_at is null`) == 0
	})
	bridged := time.Since(began)
	if n := f.count(`select count(*) from messages where status = 'completed' and direction = 'in'`); n != total/4 {
		b.Errorf("%d messages of %d calls", n, total/4)
	}
	slots := f.count(`select count(distinct slot_at) from followup_events where place is not null and at >= $1 and at < $2`, began, began.Add(sent))
	slices.Sort(took)
	b.ReportMetric(float64(total)/sent.Seconds(), "webhooks/s")
	b.ReportMetric(float64(took[total/2])/1e6, "ms-p50")
	b.ReportMetric(float64(took[total*99/100])/1e6, "ms-p99")
	b.ReportMetric(bridged.Seconds()-sent.Seconds(), "s-to-bridge")
	b.ReportMetric(sent.Seconds()-float64(slots), "slots-missed")
	b.ReportMetric(0, "ns/op")
}
