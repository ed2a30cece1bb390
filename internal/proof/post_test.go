package proof_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"

	"chasephone/internal/carrier/sim"
)

// Webhooks of the call that a combination is about: when they come.
const (
	hooksNone   = "no webhooks"
	hooksBefore = "webhooks before the reply"
	hooksAfter  = "webhooks after the reply"
)

// post brings the company's webhooks to whichever daemon lives. The company sends each once, so one
// that is not taken is lost; the post keeps those of the call that is watched until they are asked for.
type post struct {
	w   *world
	url string // where the company was told to send them

	mu    sync.Mutex
	when  string
	first *machine // whom they are brought to while it lives
	then  *machine
	kept  []letter
	ended chan struct{} // closed when the call's end has come in
	is    bool
}

type letter struct {
	path   string
	header http.Header
	body   []byte
	status string
}

func newPost(w *world) *post {
	p := &post{w: w}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(p.take(r)) }))
	w.t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// begin is for a new combination.
func (p *post) begin(when string, then *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.when, p.first, p.then, p.kept, p.ended, p.is = when, nil, then, nil, make(chan struct{}), false
}

// bringTo names the daemon that letters are brought to while it lives.
func (p *post) bringTo(m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first = m
}

// daemon is one that lives, and answers.
func (p *post) daemon() *machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil || p.first.isDead() || p.first.standsStill() {
		return p.then
	}
	return p.first
}

// take is where the company delivers to.
func (p *post) take(r *http.Request) int {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	l := letter{path: r.URL.Path, header: r.Header.Clone(), body: body, status: form.Get("CallStatus")}
	p.mu.Lock()
	now := p.when == hooksBefore && l.status == "initiated"
	if !now {
		p.kept = append(p.kept, l)
	}
	if l.status == "completed" && !p.is {
		p.is = true
		close(p.ended)
	}
	p.mu.Unlock()
	if !now {
		return http.StatusOK
	}
	code := p.bring(l)
	if m := p.daemon(); code == http.StatusOK {
		m.answers(func() { _ = m.bridge() }) // the job that came with it
	}
	return code
}

// bring delivers a letter.
func (p *post) bring(l letter) int {
	r := httptest.NewRequest(http.MethodPost, p.url+l.path, bytes.NewReader(l.body))
	r.Header = l.header
	said, to := httptest.NewRecorder(), p.daemon()
	if !to.answers(func() { to.handler.ServeHTTP(said, r) }) {
		return http.StatusGatewayTimeout // the company gives up; what stands still takes it once it goes on
	}
	return said.Code
}

// deliver brings what was kept: the first and the last, the others are lost on their way. It waits
// until the company has sent all that it has to say of the call.
func (p *post) deliver(rang bool) {
	p.mu.Lock()
	when, ended := p.when, p.ended
	p.mu.Unlock()
	if when == hooksNone || !rang {
		return
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		p.w.t.Error("the company never told the end of a call")
		return
	}
	p.mu.Lock()
	kept := p.kept
	p.kept, p.when = nil, hooksNone
	p.mu.Unlock()
	for i, l := range kept {
		if when == hooksAfter && i == 0 || l.status == "completed" {
			p.bring(l)
		}
	}
}

// write is a letter to one of the webhooks, signed with a secret.
func (p *post) write(to, secret string, form url.Values) letter {
	path := "/webhooks/twilio/" + to
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	header.Set("X-Twilio-Signature", sim.Sign(secret, p.url+path, form))
	return letter{path: path, header: header, body: []byte(form.Encode())}
}
