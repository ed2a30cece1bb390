package arrivals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"chasephone/internal/carrier"
)

const mostBody = 64 << 10

// Handler takes the carriers' deliveries:
//
//	POST /webhooks/{carrier}/{kind}
//	POST /webhooks/{carrier}/{kind}/{token}
//
// A delivery is answered 200 only once it is in the database, and is kept only where an
// account of the carrier signed it. No answer repeats anything of the request, and neither
// does a log line. Use one by its pointer; all fields must be set but PublicURL.
type Handler struct {
	// PublicURL is PUBLIC_URL, whose path a proxy may leave in front or take away. Empty: no
	// carrier was told where to send anything, and nothing is taken.
	PublicURL string
	Carriers  []Carrier
	// Accounts lists the accounts of a carrier as they are now.
	Accounts func(carrier string) []Account
	// Keep stores a delivery and returns once it is there (Keeper.Keep).
	Keep    func(ctx context.Context, a Arrival) (foreign bool, err error)
	Metrics *Metrics
	Log     *slog.Logger

	lines seldom
}

// ServeHTTP takes one delivery.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hook, found := h.find(r.URL)
	switch {
	case h.PublicURL == "":
		h.refuse(w, hook, http.StatusNotFound, "No webhook is served here: PUBLIC_URL is not set.")
	case !found:
		h.refuse(w, hook, http.StatusNotFound, "There is no such webhook.")
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.refuse(w, hook, http.StatusMethodNotAllowed, "Webhooks take POST, and nothing else.")
	case encoded(r.Header):
		h.refuse(w, hook, http.StatusUnsupportedMediaType, "Webhooks take bodies as they are, without a Content-Encoding.")
	default:
		h.take(w, r, hook)
	}
}

// refuse answers what is no delivery. Whoever found no carrier's name is counted nowhere: names
// that others make up are no labels.
func (h *Handler) refuse(w http.ResponseWriter, hook webhook, status int, text string) {
	if hook.carrier.Name != "" {
		h.Metrics.count(hook.carrier.Name, resultRefused)
	}
	answer(w, status, text)
}

// take reads all of a delivery before anything else: a part of one says nothing.
func (h *Handler) take(w http.ResponseWriter, r *http.Request, hook webhook) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		h.Metrics.count(hook.carrier.Name, resultTooLarge)
		answer(w, http.StatusRequestEntityTooLarge, "Webhooks take up to 64 KiB.")
		return
	case err != nil:
		h.Metrics.count(hook.carrier.Name, resultMalformed)
		answer(w, http.StatusBadRequest, "The body did not arrive whole.")
		return
	}
	arrival := Arrival{Delivery: carrier.Delivery{
		Kind: hook.kind, Token: hook.token, Body: body, URL: hook.url, Header: only(r.Header),
	}}
	became := h.keep(r.Context(), hook, arrival)
	h.Metrics.count(hook.carrier.Name, became)
	switch became {
	case resultKept, resultForeign:
		contentType, text := hook.carrier.Reply(hook.kind)
		reply(w, http.StatusOK, contentType, text)
	case resultMalformed:
		answer(w, http.StatusBadRequest, "This cannot be read as a delivery.")
	case resultFailed:
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusServiceUnavailable, "This could not be stored. Deliver it again.")
	default: // what can be known of a signature is for those who can make one
		answer(w, http.StatusForbidden, "This is not signed by an account that reports here.")
	}
}

// keep verifies a delivery, reads it and has it stored.
func (h *Handler) keep(ctx context.Context, hook webhook, a Arrival) result {
	name := hook.carrier.Name
	signed, became := verify(h.Accounts(name), a.Delivery)
	switch became {
	case resultForged:
		h.log(slog.LevelWarn, "a delivery was turned away: no account of this carrier that this daemon has signed it for this address", hook, became, nil)
		return became
	case resultStale:
		h.log(slog.LevelWarn, "a delivery was turned away: it was not signed just now; is this machine's clock right?", hook, became, nil)
		return became
	case resultMalformed:
		return became
	}
	a.Accounts = signed
	var err error
	if a.Report, err = hook.carrier.Read(a.Delivery); err != nil {
		// Its error may repeat what it could not read.
		h.log(slog.LevelWarn, "a delivery was turned away: it is signed, and cannot be read", hook, resultMalformed, nil)
		return resultMalformed
	}
	// Who hung up meanwhile may not deliver it again, so it is kept for him too.
	foreign, err := h.Keep(context.WithoutCancel(ctx), a)
	switch {
	case err != nil:
		h.log(slog.LevelError, "a delivery could not be stored; the carrier is asked for it again", hook, resultFailed, err)
		return resultFailed
	case foreign:
		return resultForeign
	}
	return resultKept
}

// verify finds the accounts that signed a delivery. All are asked alike, so that the time it
// takes tells a forger of none of them.
func verify(accounts []Account, d carrier.Delivery) (signed []string, became result) {
	became = resultForged
	for _, a := range accounts {
		switch err := a.Verify(d); {
		case err == nil:
			signed = append(signed, a.Name)
		case errors.Is(err, carrier.ErrStale):
			became = resultStale
		case errors.Is(err, carrier.ErrMalformed) && became == resultForged:
			became = resultMalformed
		}
	}
	if len(signed) > 0 {
		slices.Sort(signed)
		return signed, resultKept
	}
	return nil, became
}

// log says at most once a minute what became of deliveries.
func (h *Handler) log(level slog.Level, text string, hook webhook, became result, err error) {
	others, due := h.lines.now(hook.carrier.Name+" "+string(became), time.Now())
	if !due {
		return
	}
	// The address without the token: a carrier that signs another one than it was told is the usual cause.
	address := strings.TrimRight(h.PublicURL, "/") + webhooks + hook.carrier.Name + "/" + hook.kind
	attrs := []any{"carrier", hook.carrier.Name, "verified_for", address, "others_since_last_logged", others}
	if err != nil {
		attrs = append(attrs, "err", cause(err))
	}
	h.Log.Log(context.Background(), level, text, attrs...)
}

// only reads headers that came once. Of one that came twice nobody can say which of the two
// whoever stands in front of us went by.
func only(headers http.Header) func(name string) string {
	return func(name string) string {
		if values := headers.Values(name); len(values) == 1 {
			return values[0]
		}
		return ""
	}
}

func encoded(headers http.Header) bool {
	for _, value := range headers.Values("Content-Encoding") {
		if value != "" && !strings.EqualFold(value, "identity") {
			return true
		}
	}
	return false
}

func answer(w http.ResponseWriter, status int, text string) {
	reply(w, status, "text/plain; charset=utf-8", text+"\n")
}

func reply(w http.ResponseWriter, status int, contentType, body string) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body) // the carrier hung up
}
