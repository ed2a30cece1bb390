package sim

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A telephone company that was restarted, even in the middle of a line, still knows its calls.
func TestBookSurvives(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rings.jsonl")
	before := newCompany(t, Options{Book: path})
	sid := before.place(t, form(plainTo))["sid"]
	_, _, _ = before.do(t, "POST", calls+".json", form("+14155550000")) // rings, and the reply is lost
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"request":3,"rang":true,"to":"` + strings.Repeat("1", 1000)); err != nil {
		t.Fatal(err)
	}
	f.Close()

	after := newCompany(t, Options{Book: path})
	after.place(t, form(plainTo))
	r, err := ReadBook(path)
	if err != nil || r.Tally != (Tally{3, 3}) || r.ByTo[plainTo] != (Tally{2, 2}) || r.Entries[2].Request != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	_, raw, err := after.do(t, "GET", calls+".json?To="+url.QueryEscape(plainTo), nil)
	list := parse(t, raw)["calls"].([]any)
	if err != nil || len(list) != 2 || list[1].(map[string]any)["sid"] != sid {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestBookThatIsNone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rings.jsonl")
	if _, err := ReadBook(path); err == nil {
		t.Error("a book was read that is not there")
	}
	if err := os.WriteFile(path, []byte("not JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Book: path}); err == nil {
		t.Error("a book was continued that is none")
	}
}

// A ring that cannot be written down does not ring.
func TestBookThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	c := newCompany(t, Options{Book: filepath.Join(t.TempDir(), "rings.jsonl")})
	c.book.file.Close()
	if status, raw, err := c.do(t, "POST", calls+".json", form(plainTo)); status != 500 {
		t.Errorf("%d %s, %v", status, raw, err)
	}
	if c.Rings().Requests != 0 || c.known() != 0 {
		t.Errorf("%+v, %d calls", c.Rings(), c.known())
	}
}
