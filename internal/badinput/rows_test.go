package badinput_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"chasephone/internal/phone"
)

// row is what an integrator inserts, by column; what it has not is left to its default.
type row struct {
	ref     string
	columns map[string]any
	want    []string // "state/reason", one of which it must end with
	number  string   // that it may ring, once; "" where it may ring none
	good    bool     // it must be rung, once
}

// door is what is wanted of a row that the database does not take in the first place.
const door = "refused at the door"

const (
	rung    = "call_placed/"
	tenants = 40
)

func tenant(i int) string { return fmt.Sprintf("t%02d", i%tenants) }
func line(i int) string   { return fmt.Sprintf("+1212555%04d", i%tenants) }

func numberOf(area, i int) string { return fmt.Sprintf("+1%d%07d", area, 2_000_000+i) }

// goodRows are those that everything else must not keep from being rung.
func goodRows(n int) []row {
	var all []row
	for i := range n {
		number := numberOf(415, i)
		all = append(all, row{
			ref: fmt.Sprintf("good %d", i), number: number, good: true, want: []string{rung},
			columns: map[string]any{"tenant_id": tenant(i), "phone_number": number, "script": "Hello"},
		})
	}
	return all
}

// nonsenseRows are good, each on a line of its own, and the carrier answers nonsense: what it says must
// not be that the call was placed, and waits or is done with all the same.
func nonsenseRows(n int) []row {
	var all []row
	for i := range n {
		number := numberOf(628, i)
		all = append(all, row{
			ref: fmt.Sprintf("nonsense %d", i), number: number,
			want:    []string{"uncertain/answer_unknown", "refused/carrier_refused", "due/line_not_ready", rung},
			columns: map[string]any{"tenant_id": tenant(i), "phone_number": number, "script": "Hello", "line": fmt.Sprintf("n%d", i)},
		})
	}
	return all
}

// badRows are bad in one column each, or in all.
func badRows(g generator, n int, now time.Time) []row {
	kinds := []func(generator, *row){
		badNumber, badNumber, badZone, badLine, badTenant, badDate, badScript, badPurpose, badName, badRef, badAtTheDoor,
	}
	var all []row
	for i := range n {
		number := numberOf(510, i)
		r := row{ref: fmt.Sprintf("bad %d", i), number: number, columns: map[string]any{
			"tenant_id": tenant(i), "phone_number": number, "script": "Hello", "due_at": now.Add(-time.Duration(i) * time.Second).Format(time.RFC3339),
		}}
		kinds[i%len(kinds)](g, &r)
		all = append(all, r)
	}
	return all
}

func badNumber(g generator, r *row) {
	all := []string{
		"", " ", "call me maybe", "911", "112", "+", "++14155550123", "+1 415 555", "0000000", "+999123456789", "4155550123 x" + strings.Repeat("1", 40), "4155550123,4155550124",
		"*69", "#31#", "1-900-555-0123", `\u0000`, "+14155550123\n+14155550124", strings.Repeat("1", 100_000), "\u202e\u2066", "client:ada", "sip:ada@example.com", "+1 911 555 0123",
		"+33 1 99 00 12 34", g.letters(30), g.letters(300), "+" + g.text(), "(((((((((((((", "\uff0b\uff11",
	}
	raw := of(g, all)
	id, problem := phone.Parse(raw, "US")
	switch {
	case problem != "":
		r.want = []string{"refused/" + string(problem)}
	case id.Region != "US":
		r.want = []string{"refused/country_not_allowed"}
	default:
		raw, r.want = "x", []string{"refused/" + string(phone.Letters)}
	}
	r.columns["phone_number"], r.number = raw, ""
}

func badZone(g generator, r *row) {
	zone := of(g, []string{"Mars/Phobos", "Local", "localtime", "../../etc/localtime", "right/UTC", "posix/UTC", "utc+5", "America/New_York\n", "EST5EDT4", strings.Repeat("A", 100_000), g.letters(20), "Europe/" + g.text()})
	r.columns["time_zone"], r.want, r.number = zone, []string{"awaiting_approval/time_zone_unknown"}, ""
}

func badLine(g generator, r *row) {
	r.columns["line"], r.want, r.number = of(g, []string{"nowhere", " ", "Default", "default ", strings.Repeat("l", 101), strings.Repeat("\U0001f600", 50_000), "x" + g.text(), "n1; --"}), []string{"refused/unknown_line"}, ""
}

func badTenant(g generator, r *row) {
	r.columns["tenant_id"], r.want, r.number = of(g, []string{"nobody", "", " t01", "T01", "t01\x01", strings.Repeat("t", 101), "x" + g.text()}), []string{"refused/unknown_tenant"}, ""
}

// fate is a value, and what comes of the row that has it.
type fate struct{ value, want string }

func badDate(g generator, r *row) {
	one := of(g, []fate{
		{"infinity", "refused/due_at_not_finite"},
		{"-infinity", "refused/due_at_not_finite"},
		{"4713-01-01 00:00:00+00 BC", "missed/too_late"},
		{"0001-01-01 00:00:00+00", "missed/too_late"},
		{"1969-12-31 23:59:59.999999+00", "missed/too_late"},
		{"294276-12-31 23:59:59.999999+00", "due/"},
		{"9999-12-31 23:59:60+14", "due/"},
		{"2200-02-28 00:00:00-15:59:59", "due/"},
	})
	r.columns["due_at"], r.want, r.number = one.value, []string{one.want}, ""
}

func badScript(g generator, r *row) {
	one := of(g, []fate{
		{"", "refused/no_words"},
		{" \n\t ", "refused/no_words"},
		{"\u3000\u00a0", "refused/no_words"},
		{strings.Repeat("x", 4001), "refused/script_too_long"},
		{strings.Repeat("&", 3500), "refused/script_too_long"},
		{strings.Repeat("\U0001f600", 50_000), "refused/script_too_long"},
		{"\x01\x1b[2J</Say><Dial>+14155550123</Dial>", rung},
		{`\u0000 \000 %00`, rung},
		{"\u202e\ufffe\uffff", rung},
		{"x" + g.letters(200), rung},
	})
	if r.columns["script"], r.want = one.value, []string{one.want}; one.want != rung {
		r.number = ""
	}
}

func badPurpose(g generator, r *row) {
	r.columns["purpose"], r.want = of(g, []string{"", "unknown", "SALES", strings.Repeat("p", 100_000), g.text(), g.letters(50)}), []string{rung}
}

func badName(g generator, r *row) {
	r.columns["contact_name"], r.want = of(g, []string{strings.Repeat("n", 100_000), "+14155550123", g.text(), g.letters(100)}), []string{rung}
}

func badRef(g generator, r *row) {
	r.ref += of(g, []string{strings.Repeat("\U0001f600", 490), "\x01\x1b[2J", "4155550123", g.letters(100), `'"\`})
	r.want = []string{rung}
}

// badAtTheDoor is what the database's own checks turn away, each with a name or a code for it.
func badAtTheDoor(g generator, r *row) {
	wrong := of(g, []map[string]any{
		{"ref": ""},
		{"ref": strings.Repeat("r", 501)},
		{"script": "a\x00b"},
		{"phone_number": "+1415555\x000123"},
		{"script": "\xff\xfe"},
		{"ref": "\xc3\x28"},
		{"due_at": "tomorrow-ish"},
		{"due_at": "294277-01-01"},
		{"due_at": "2026-02-30"},
		{"due_at": nil},
		{"phone_number": nil},
		{"script": nil},
		{"ref": nil},
		{"state": "call_placed"},
		{"state": "nonsense"},
		{"next_try_at": "infinity"},
		{"e164": "+14155550123"},
		{"ready": true},
		{"call_id": "CA1"},
		{"version": 7},
		{"number_problem": "x"},
		{"tenant_id": g.bytesOfText(9_000)},
		{"id": "not a uuid"},
		{"ref": "good 0", "tenant_id": "t00", "due_at": nil},
	})
	for column, value := range wrong {
		r.columns[column] = value
	}
	r.want, r.number = []string{door}, ""
}

// bytesOfText is a text too long for an index, which compression does not make shorter.
func (g generator) bytesOfText(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(' ' + 1 + g.IntN(90))
	}
	return string(out)
}

// insert is the row's statement.
func (r row) insert(due string) (string, []any) {
	columns := map[string]any{"ref": r.ref, "due_at": due}
	for name, value := range r.columns {
		columns[name] = value
	}
	var names, marks []string
	var args []any
	for name := range columns {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		mark := fmt.Sprintf("$%d::text", i+1)
		if as := map[string]string{"due_at": "timestamptz", "next_try_at": "timestamptz", "ready": "boolean", "version": "integer", "id": "uuid"}[name]; as != "" {
			mark += "::" + as
		}
		marks, args = append(marks, mark), append(args, asText(columns[name]))
	}
	return "insert into phone_followups (" + strings.Join(names, ", ") + ") values (" + strings.Join(marks, ", ") + ")", args
}

func asText(v any) any {
	if v == nil {
		return nil
	}
	return fmt.Sprint(v)
}
