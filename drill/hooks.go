package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"path"
	"sync"
	"time"

	"chasephone/internal/carrier/sim"
)

// hooks stands at PUBLIC_URL, between the carrier's webhooks and the daemons: it spreads, loses,
// doubles and reorders them, sends old ones again, and forges some.
type hooks struct {
	w    *world
	url  string
	http *http.Client

	mu   sync.Mutex
	rnd  *rand.Rand
	past []delivery // genuine ones, to be sent again
	kind bool       // nothing is lost any more
}

// delivery is one webhook as it came.
type delivery struct {
	path   string
	header http.Header
	body   []byte
}

const remembered = 500

func (h *hooks) serve(ctx context.Context, l net.Listener) {
	server := &http.Server{Handler: http.HandlerFunc(h.take), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_ = server.Serve(l) // until it is closed
}

func (h *hooks) take(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(rw, "cut off", http.StatusBadRequest)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
	d := delivery{path: r.URL.RequestURI(), header: r.Header.Clone(), body: body}
	h.w.count("webhooks from the carrier", 1)
	// Of two promises to one number the second waits until the first one's end is told.
	form, _ := url.ParseQuery(string(body))
	awaited := h.w.promises.isPaired(form.Get("To"))
	h.mu.Lock()
	if len(h.past) < remembered {
		h.past = append(h.past, d)
	} else {
		h.past[h.rnd.IntN(remembered)] = d
	}
	lost := !h.kind && !awaited && (isLost(d.path) || h.rnd.IntN(100) < 5)
	times, wait := 1, time.Duration(0)
	if h.rnd.IntN(100) < 15 {
		times = 2
	}
	if h.rnd.IntN(100) < 25 {
		wait = time.Duration(h.rnd.Int64N(int64(2 * time.Second)))
	}
	h.mu.Unlock()
	if lost {
		h.w.count("webhooks lost", 1)
		return
	}
	for range times {
		go func() {
			if pause(h.w.ctx, wait) {
				h.deliver(h.w.ctx, d)
			}
		}()
	}
}

// isLost says that nothing of this call's is delivered: its company keeps silent.
func isLost(path string) bool {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, path)
	return sum.Sum32()%100 < 20
}

// deliver hands a webhook to a daemon that serves, and gives the answer's status; 0 where none took it.
func (h *hooks) deliver(ctx context.Context, d delivery) int {
	for range 3 {
		h.mu.Lock()
		to := h.w.daemons[h.rnd.IntN(len(h.w.daemons))].webAddress()
		h.mu.Unlock()
		if to == "" {
			continue
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+to+d.path, bytes.NewReader(d.body))
		if err != nil {
			return 0
		}
		r.Header = d.header.Clone()
		resp, err := h.http.Do(r)
		if err != nil {
			continue // it is being killed: another may take it
		}
		_ = resp.Body.Close()
		if resp.StatusCode/100 == 2 {
			h.w.count("webhooks taken", 1)
		}
		return resp.StatusCode
	}
	return 0
}

// again sends old webhooks again, in any order.
func (h *hooks) again(ctx context.Context, n int) {
	h.mu.Lock()
	var some []delivery
	for range n {
		if len(h.past) > 0 {
			d := h.past[h.rnd.IntN(len(h.past))]
			if !isLost(d.path) {
				some = append(some, d)
			}
		}
	}
	h.mu.Unlock()
	for _, d := range some {
		h.deliver(ctx, d)
		h.w.count("webhooks sent again", 1)
	}
}

// forge sends what the carrier never said: with a wrong signature to an attempt's own address, and
// well signed about an attempt that there is not.
func (h *hooks) forge(ctx context.Context, token string) {
	form := url.Values{
		"AccountSid": {accountSID}, "CallSid": {"CA" + fmt.Sprintf("%032x", h.number())}, "CallStatus": {"completed"},
		"To": {"+14155550123"}, "From": {callerOf}, "SequenceNumber": {"3"}, "Timestamp": {time.Now().UTC().Format(time.RFC1123Z)},
	}
	target := h.url + "/webhooks/twilio/status/" + token
	send := func(key string) int {
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Twilio-Signature": {sim.Sign(key, target, form)}}
		u, err := url.Parse(target)
		if err != nil {
			return 0
		}
		h.w.count("webhooks forged", 1)
		return h.deliver(ctx, delivery{path: u.Path, header: header, body: []byte(form.Encode())})
	}
	if status := send("somebody else's token"); status/100 == 2 {
		h.w.find(violation{Rule: "a forged webhook was taken", Says: fmt.Sprintf("answered with %d at %s", status, path.Dir(target))})
	}
	target = h.url + "/webhooks/twilio/status/" + fmt.Sprintf("00000000-0000-4000-8000-%012x", h.number()&0xffffffffffff)
	send(authToken)
}

func (h *hooks) number() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rnd.Uint64()
}

// heal ends the losing.
func (h *hooks) heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kind = true
}
