package sim

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTableOfFaults(t *testing.T) {
	t.Parallel()
	names, endings := map[string]bool{}, map[string]bool{}
	for _, f := range Faults() {
		if f.Name == "" || f.Says == "" || names[f.Name] {
			t.Errorf("%+v has no name or words of its own", f)
		}
		if f.Ending != "" && (len(f.Ending) != 4 || strings.Trim(f.Ending, "0123456789") != "" || endings[f.Ending]) {
			t.Errorf("%s: ending %q", f.Name, f.Ending)
		}
		if (f.reply == replyCall || f.reply == replyHalf) && !f.Rings {
			t.Errorf("%s shows a call that did not ring", f.Name)
		}
		if f.reply == replyEnvelope && (f.code == 0 || f.status < 400) {
			t.Errorf("%s: %d/%d is no error", f.Name, f.status, f.code)
		}
		names[f.Name], endings[f.Ending] = true, true
	}
}

// Every fault, asked for by the number's ending: the answer has its form, and the book,
// which is on the disk by then, says whether the phone rang.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for _, f := range Faults() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "rings.jsonl")
			o := Options{Book: path}
			to := "+1415555" + f.Ending
			if f.Ending == "" {
				to = plainTo
			}
			if f.Name == "slow" {
				o.Rules = []Rule{{To: to, Delay: 20 * time.Millisecond}} // the same fault, sooner
			}
			c := newCompany(t, o)
			if f.reply == replyNever {
				c.client.Timeout = 100 * time.Millisecond
			}
			status, raw, err := c.do(t, "POST", calls+".json", form(to))
			switch f.reply {
			case replyGarbage, replyClose, replyReset, replyNever:
				if err == nil || status != 0 {
					t.Errorf("an answer came: %d %s", status, raw)
				}
			case replyHalf:
				if err == nil || status != f.status {
					t.Errorf("the answer came whole: %d %s, %v", status, raw, err)
				}
			default:
				if err != nil || status != f.status {
					t.Errorf("status %d: %s, %v", status, raw, err)
				}
			}
			if f.reply == replyEnvelope {
				if reply := parse(t, raw); reply["code"] != float64(f.code) || reply["status"] != float64(f.status) || reply["message"] == "" {
					t.Errorf("no envelope: %v", reply)
				}
			}
			want := Tally{Requests: 1}
			if f.Rings {
				want.Rings = 1
			}
			if f.reply == replyNever { // its caller may have given up before the book was written
				eventually(t, "the request is in the book", func() bool { return c.Rings().Requests == 1 })
			}
			if r, err := ReadBook(path); err != nil || r.ByTo[to] != want {
				t.Errorf("the book has %+v, %v", r.ByTo, err)
			}
			eventually(t, "the company knows the call", func() bool { return c.known() == want.Rings })
		})
	}
}

// The book has the ring even if the caller was gone before the answer.
func TestRingIsInTheBookBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rings.jsonl")
	c := newCompany(t, Options{Book: path, Latency: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+calls+".json", strings.NewReader(form(plainTo).Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(account, secret)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	failed := make(chan error)
	go func() {
		resp, err := c.client.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	eventually(t, "the ring is in the book", func() bool {
		rings, err := ReadBook(path)
		return err == nil && rings.Rings == 1
	})
	cancel()
	if <-failed == nil {
		t.Error("an answer came")
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{Rules: []Rule{{To: "0123", Next: 2, Fault: "http_503"}, {To: "*", Fault: "no_number", Code: 21299}}})
	for i, want := range []int{503, 503, 400, 400} {
		if status, raw, err := c.do(t, "POST", calls+".json", form(plainTo)); status != want {
			t.Errorf("request %d: %d %s, %v", i+1, status, raw, err)
		} else if want == 400 && parse(t, raw)["code"] != 21299.0 {
			t.Errorf("request %d: %s", i+1, raw)
		}
	}
}

func TestPlainNumbers(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{PlainNumbers: true})
	c.place(t, form("+14155550500"))
}

func TestParseRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rule{
		"+14155550123=drop_reply": {To: "+14155550123", Fault: "drop_reply"},
		"*=slow,next=3,delay=2s":  {To: "*", Fault: "slow", Next: 3, Delay: 2 * time.Second},
		"0123=no_number,code=21212,webhooks=early,final=busy": {
			To: "0123", Fault: "no_number", Code: 21212, Webhooks: Early, Final: "busy",
		},
		"*=": {To: "*"},
	} {
		if got, err := ParseRule(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "drop_reply", "=drop_reply", "*=nothing", "*=slow,delay=2", "*=slow,next=-1", "*=slow,when=now",
		"*=slow,webhooks=never", "*=slow,final=happy", "bob=slow", "*=slow,next=x",
	} {
		if got, err := ParseRule(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if _, err := New(Options{Rules: []Rule{{To: "*", Fault: "nothing"}}}); err == nil {
		t.Error("New took a rule that is none")
	}
}
