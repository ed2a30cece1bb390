package sim

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// admin sends JSON to one of the simulator's own paths.
func admin(t *testing.T, client *http.Client, method, url, body string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var buf strings.Builder
	if _, err := jsonCopy(&buf, resp); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, []byte(buf.String())
}

func jsonCopy(b *strings.Builder, resp *http.Response) (int64, error) {
	raw := json.RawMessage{}
	if resp.Header.Get("Content-Type") != "application/json" {
		return 0, nil
	}
	err := json.NewDecoder(resp.Body).Decode(&raw)
	n, _ := b.Write(raw)
	return int64(n), err
}

func TestFaultsByRequest(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{})
	if status, _ := admin(t, c.client, "POST", c.url+"/sim/faults", `{"next":1,"fault":"http_503","delay":"1ms"}`); status != 204 {
		t.Errorf("adding: %d", status)
	}
	if status, _, _ := c.do(t, "POST", calls+".json", form(plainTo)); status != 503 {
		t.Errorf("ruled: %d", status)
	}
	c.place(t, form(plainTo)) // used up
	if status, _ := admin(t, c.client, "POST", c.url+"/sim/faults", `{"to":"0123","fault":"http_500"}`); status != 204 {
		t.Errorf("adding: %d", status)
	}
	status, raw := admin(t, c.client, "GET", c.url+"/sim/faults", "")
	var shown struct {
		Rules  []Rule
		Faults []Fault
	}
	if err := json.Unmarshal(raw, &shown); err != nil || status != 200 || len(shown.Rules) != 1 || shown.Rules[0].Fault != "http_500" || len(shown.Faults) != len(table) {
		t.Errorf("%d %s, %v", status, raw, err)
	}
	if status, _ := admin(t, c.client, "DELETE", c.url+"/sim/faults", ""); status != 204 {
		t.Errorf("clearing: %d", status)
	}
	c.place(t, form(plainTo))
	for _, bad := range []string{"", "{", `{"fault":"nothing"}`, `{"faults":"slow"}`, `{"delay":"2"}`, `{"to":""}`} {
		if status, _ := admin(t, c.client, "POST", c.url+"/sim/faults", bad); status != 400 {
			t.Errorf("%s: %d", bad, status)
		}
	}
}

func TestShowRings(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{})
	body := form(plainTo)
	body.Set("StatusCallback", "http://127.0.0.1:1/x/tok1")
	c.place(t, body)
	_, _, _ = c.do(t, "POST", calls+".json", form("+14155550429"))
	status, raw := admin(t, c.client, "GET", c.url+"/sim/rings", "")
	var r Rings
	if err := json.Unmarshal(raw, &r); err != nil || status != 200 || r.Tally != (Tally{2, 1}) || r.ByToken["tok1"] != (Tally{1, 1}) ||
		r.ByTo["+14155550429"] != (Tally{1, 0}) || len(r.Entries) != 2 || r.Entries[1].Fault != "http_429" {
		t.Errorf("%d %s, %v", status, raw, err)
	}
}

func TestRefuseConnections(t *testing.T) {
	t.Parallel()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, listener) }()
	addr := listener.Addr().String()
	dial := func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if status, _ := admin(t, client, "POST", "http://"+addr+"/sim/refuse", `{"for":"200ms"}`); status != 204 {
		t.Fatalf("refusing: %d", status)
	}
	eventually(t, "connections are refused", func() bool { return !dial() })
	eventually(t, "connections are taken again", dial)
	if status, _ := admin(t, client, "GET", "http://"+addr+"/sim/rings", ""); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Run(ctx, "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
	if err := s.Run(ctx, "nowhere:x"); err == nil {
		t.Error("it listens nowhere")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
