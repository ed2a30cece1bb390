//go:build contract

package twilio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"chasephone/internal/carrier"
	"chasephone/internal/phone"
)

const (
	prismProgram  = "../../../.tools/prism/node_modules/.bin/prism"
	prismDocument = "../../../../shared/contracts/twilio_api_v2010.json"
)

// Every request of ours is taken by Prism, which holds it to Twilio's own OpenAPI document. What
// it makes up in reply says nothing: what went over the wire is looked at.
func TestContractPrism(t *testing.T) {
	t.Parallel()
	known := documentedNames(t)
	prism := startPrism(t)

	find := func(t *testing.T, a *Carrier) { // one page: the next one in Prism's example is another account's
		found, err := a.Find(t.Context(), carrier.Sought{To: phone.FromE164("+14155550123"), From: phone.FromE164("+14155550100")})
		if err != nil || !found.Cut {
			t.Errorf("%+v, %v", found, err)
		}
	}
	fetch := func(t *testing.T, a *Carrier) { _, _ = a.Fetch(t.Context(), goodSID) }
	cancel := func(t *testing.T, a *Carrier) { _ = a.Cancel(t.Context(), goodSID) }
	places := func(change func(*carrier.Call)) func(*testing.T, *Carrier) {
		return func(t *testing.T, a *Carrier) {
			call := testCall()
			change(&call)
			place(t, a, call)
		}
	}
	const public = "https://calls.example.com/base"
	create, list, one := "POST .../Calls.json 201", "GET .../Calls.json 200", ".../Calls/"+goodSID+".json 200"
	for _, row := range []struct {
		name   string
		public string
		act    func(*testing.T, *Carrier)
		want   []string
	}{
		{"words", "", places(func(*carrier.Call) {}), []string{create}},
		{"words, with status webhooks", public, places(func(*carrier.Call) {}), []string{create}},
		{"URL", "", places(func(c *carrier.Call) { c.URL = "https://voice.example.com/x?y=1&z=2" }), []string{create}},
		{"URL, with status webhooks", public, places(func(c *carrier.Call) { c.URL = "https://voice.example.com/x?y=1&z=2" }), []string{create}},
		{"extension", "", places(func(c *carrier.Call) { c.Extension = "*4w#" }), []string{create}},
		{"extension, with status webhooks", public, places(func(c *carrier.Call) { c.Extension = "44" }), []string{create}},
		{"find", "", find, []string{list}},
		{"fetch", "", fetch, []string{"GET " + one}},
		{"cancel", "", cancel, []string{"POST " + one}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			wire := tap(t, prism)
			row.act(t, newAccount(t, wire.url, row.public))
			var got []string
			for _, e := range wire.stop() {
				path := strings.TrimPrefix(e.request.URL.Path, "/2010-04-01/Accounts/"+testSID)
				got = append(got, e.request.Method+" ..."+path+e.status)
				if e.complaint != "" {
					t.Errorf("Prism: %s", e.complaint)
				}
				// Prism passes over names that the document does not have.
				for name := range e.request.Form {
					operation := e.request.Method + " " + strings.ReplaceAll(path, goodSID, "{Sid}")
					if !slices.Contains(known[operation], name) {
						t.Errorf("Twilio knows no parameter %s of %s", name, operation)
					}
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("%q\nwant %q", got, row.want)
			}
		})
	}

	// And it does hold requests to it.
	for _, row := range []struct {
		name, method, path, contentType, body string
		anonymous                             bool
		want                                  int
	}{
		{name: "a form as ours", body: "To=%2B14155550123&From=%2B14155550100&Twiml=x", want: 201},
		{name: "name misspelt", body: "To=%2B14155550123&Form=%2B14155550100&Twiml=x", want: 422},
		{name: "value not listed", body: "To=%2B14155550123&From=%2B14155550100&Twiml=x&StatusCallbackMethod=PUT", want: 422},
		{name: "URL that is none", body: "To=%2B14155550123&From=%2B14155550100&Url=x+y", want: 422},
		{name: "without credentials", body: "To=%2B14155550123&From=%2B14155550100&Twiml=x", anonymous: true, want: 401},
		{name: "JSON", contentType: "application/json", body: `{"To":"+14155550123","From":"+14155550100","Twiml":"x"}`, want: 415},
		{name: "page too large", method: "GET", path: "/Calls.json?PageSize=1001", want: 422},
		{name: "id malformed", method: "GET", path: "/Calls/CA1.json", want: 422},
		{name: "status misspelt", path: "/Calls/" + goodSID + ".json", body: "Status=cancelled", want: 422},
		{name: "path misspelt", method: "GET", path: "/Call.json", want: 404},
	} {
		t.Run("refused: "+row.name, func(t *testing.T) {
			t.Parallel()
			or := func(s, otherwise string) string {
				if s == "" {
					return otherwise
				}
				return s
			}
			r, err := http.NewRequestWithContext(t.Context(), or(row.method, "POST"),
				prism+"/2010-04-01/Accounts/"+testSID+or(row.path, "/Calls.json"), strings.NewReader(row.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", or(row.contentType, formType))
			if !row.anonymous {
				r.SetBasicAuth(testSID, testToken)
			}
			reply, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer reply.Body.Close()
			if reply.StatusCode != row.want {
				t.Errorf("answered %s", reply.Status)
			}
		})
	}
}

// documentedNames are the parameters that the document has, in query and form, by method and
// the path's end.
func documentedNames(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(prismDocument)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("Twilio's OpenAPI document is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	type operation struct {
		Parameters []struct {
			Name string `json:"name"`
			In   string `json:"in"`
		} `json:"parameters"`
		RequestBody struct {
			Content map[string]struct {
				Schema contract `json:"schema"`
			} `json:"content"`
		} `json:"requestBody"`
	}
	var document struct {
		Paths map[string]struct {
			Get  operation `json:"get"`
			Post operation `json:"post"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, end := range []string{"/Calls.json", "/Calls/{Sid}.json"} {
		path := document.Paths["/2010-04-01/Accounts/{AccountSid}"+end]
		for method, o := range map[string]operation{"GET ": path.Get, "POST ": path.Post} {
			for _, p := range o.Parameters {
				if p.In == "query" {
					names[method+end] = append(names[method+end], p.Name)
				}
			}
			for name := range o.RequestBody.Content[formType].Schema.Properties {
				names[method+end] = append(names[method+end], name)
			}
		}
	}
	return names
}

// startPrism serves the document on a port of Prism's choosing, and returns when it does.
func startPrism(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(prismProgram); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("Prism is not here: run make contract")
		}
		t.Skip("Prism is not here: make contract installs it")
	}
	cmd := exec.Command(prismProgram, "mock", "--host", "127.0.0.1", "--port", "0", prismDocument)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to end whatever it starts with it
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	impatient := time.AfterFunc(time.Minute, kill)
	listening := regexp.MustCompile(`Prism is listening on (http://127\.0\.0\.1:\d+)`)
	var at string
	var said strings.Builder
	lines := bufio.NewScanner(out)
	for at == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			at = m[1]
		}
	}
	impatient.Stop()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out) // so that its log never stops it
	}()
	t.Cleanup(func() {
		kill()
		<-drained
		_ = cmd.Wait()
		out.Close()
	})
	if at == "" {
		t.Fatalf("Prism does not listen:\n%s", said.String())
	}
	return at
}

// wiretap stands between us and Prism, passes every byte on as it came and keeps a copy.
type wiretap struct {
	url      string
	listener net.Listener
	conns    sync.WaitGroup

	mu  sync.Mutex
	all []exchange
}

// exchange is a request as it went over the wire, its form parsed, and what Prism thought of it.
type exchange struct {
	request   *http.Request
	status    string // " 201"
	complaint string
}

func tap(t *testing.T, to string) *wiretap {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wiretap{url: "http://" + listener.Addr().String(), listener: listener}
	w.conns.Go(func() {
		for {
			ours, err := listener.Accept()
			if err != nil {
				return
			}
			w.conns.Go(func() {
				defer ours.Close()
				if e, err := relay(ours, target.Host); err != nil {
					t.Errorf("one request and its reply on a connection: %v", err)
				} else {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.all = append(w.all, e)
				}
			})
		}
	})
	t.Cleanup(func() { w.stop() })
	return w
}

// stop waits until everything was seen, and returns it.
func (w *wiretap) stop() []exchange {
	w.listener.Close()
	w.conns.Wait()
	return w.all
}

// relay carries one connection. Nothing but one request and one reply may be on it.
func relay(ours net.Conn, to string) (exchange, error) {
	prism, err := net.Dial("tcp", to)
	if err != nil {
		return exchange{}, err
	}
	defer prism.Close()
	var sent, received bytes.Buffer
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(prism, io.TeeReader(ours, &sent))
	}()
	_, _ = io.Copy(ours, io.TeeReader(prism, &received)) // Prism closes: every request of ours says that it should
	ours.Close()
	<-over

	reader := bufio.NewReader(&sent)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return exchange{}, err
	}
	if err := request.ParseForm(); err != nil {
		return exchange{}, err
	}
	if reader.Buffered() > 0 || sent.Len() > 0 {
		return exchange{}, errors.New("more than one request was sent")
	}
	reply, err := http.ReadResponse(bufio.NewReader(&received), request)
	if err != nil {
		return exchange{}, err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	e := exchange{request: request, status: " " + strings.Fields(reply.Status)[0]}
	if reply.StatusCode/100 != 2 {
		e.complaint = string(body)
	}
	// Of its own examples Prism complains too; that is not about us.
	if v := reply.Header.Get("sl-violations"); strings.Contains(v, `["request"`) {
		e.complaint += v
	}
	return e, err
}
