package main

import (
	"slices"
	"strings"
	"testing"

	"chasephone/internal/followup"
)

func TestList(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	if out := v.says(t, "no follow-ups\n", "list"); out != "no follow-ups\n" {
		t.Errorf("%q", out)
	}
	var none listed
	v.json(t, &none, "list")
	if none.FollowUps == nil || none.More {
		t.Errorf("nothing is listed as %+v", none)
	}
	v.exec(t, `insert into tenants (id) values ('other')`)
	third := v.promise(t, "third", "2099-01-03T00:00:00Z")
	first := v.promise(t, "first", "2099-01-01T00:00:00Z")
	second := v.promise(t, "second", "2099-01-02T00:00:00Z", "--tenant", "other")
	v.says(t, "cancelled", "cancel", third, "--by", "ada")

	for _, c := range []struct {
		args []string
		want []string
		more bool
	}{
		{nil, []string{first, second, third}, false},
		{[]string{"--tenant", "other"}, []string{second}, false},
		{[]string{"--state", "cancelled"}, []string{third}, false},
		{[]string{"--ref", "first"}, []string{first}, false},
		{[]string{"--ref", "first", "--tenant", "other"}, []string{}, false},
		{[]string{"--most", "3"}, []string{first, second, third}, false},
		{[]string{"--most", "2"}, []string{first, second}, true},
	} {
		var got listed
		v.json(t, &got, append([]string{"list"}, c.args...)...)
		ids := []string{}
		for _, f := range got.FollowUps {
			ids = append(ids, f.ID)
			if f.PhoneNumber != person {
				t.Errorf("the number is %q in JSON, want it as it was given", f.PhoneNumber)
			}
		}
		if !slices.Equal(ids, c.want) || got.More != c.more {
			t.Errorf("list %q: %v, more %t; want %v, %t", c.args, ids, got.More, c.want, c.more)
		}
	}

	out := v.says(t, "", "list", "--most", "2")
	lines := strings.Split(out, "\n")
	if len(lines) != 5 || lines[3] != "there are more: --most says how many are listed" {
		t.Fatalf("%q", out)
	}
	for i, want := range []string{
		"REF ID DUE (UTC) STATE NEXT TRY (UTC) NUMBER REASON CALL",
		"first " + first + " 2099-01-01 00:00:00 due 2099-01-01 00:00:00 +* *** *** **23 - -",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}

// TestListOfWhatAnIntegratorWrites: rows that came in by SQL, with whatever is in them.
func TestListOfWhatAnIntegratorWrites(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `
		insert into phone_followups (ref, phone_number, due_at, script, contact_name) values
		($1 || ' for 4155550123', $2, 'infinity', $3, $1),
		('415-555-0123', '+1 (415) 555-0123' || chr(27) || '[2J', '-infinity', 'x', $1),
		(repeat('long', 100), '', 'epoch', '', '')`,
		"\x1b]0;owned\x07\u009b31m\u202e", person, "Hello \x1b[2J")
	numberless(t, v.says(t, "infinity", "list"))
	var got listed
	v.json(t, &got, "list", "--state", string(followup.Due))
	if len(got.FollowUps) != 3 || got.FollowUps[0].DueAt != "-infinity" {
		t.Errorf("%+v", got)
	}
	for _, f := range got.FollowUps {
		numberless(t, v.says(t, "What happened", "show", f.ID))
	}
}
