package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"chasephone/internal/phone"
)

func TestDnc(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	v.exec(t, `insert into tenants (id, region) values ('paris', 'FR')`)
	v.says(t, "no entries\n", "dnc", "list")
	v.says(t, "+*********23 is on the do-not-call list for every tenant\n", "dnc", "add", person, "--by", "ada", "--source", "she said so to 4155550123")
	v.says(t, "+*********23 was on the do-not-call list for every tenant already; the earlier entry stands\n", "dnc", "add", "(415) 555-0123", "--by", "bob")
	v.says(t, "+*********34 is on tenant paris's do-not-call list\n", "dnc", "add", "01 99 00 12 34", "--tenant", "paris", "--by", "bob")
	v.says(t, "+*********34 was on tenant paris's do-not-call list already", "dnc", "add", "0199001234", "--tenant", "paris", "--region", "fr", "--by", "bob")

	out := v.says(t, "NUMBER", "dnc", "list")
	numberless(t, out)
	if !strings.Contains(out, "ada") || !strings.Contains(out, "(every)") || strings.Contains(out, "0199001234") {
		t.Errorf("%s", out)
	}
	v.says(t, "there are more", "dnc", "list", "--most", "1")
	var got dncListed
	v.json(t, &got, "dnc", "list", "--tenant", "default")
	if len(got.Entries) != 1 || got.More || got.Entries[0].Number != "+14155550123" || got.Entries[0].By != "ada" || got.Entries[0].Tenant != "" || got.Entries[0].Source != "she said so to ********23" {
		t.Errorf("%+v", got)
	}

	v.says(t, "+*********23 was not on tenant paris's do-not-call list\nit is still on the do-not-call list for every tenant\n", "dnc", "remove", person, "--tenant", "paris", "--region", "US", "--by", "ada")
	v.says(t, "+*********23 is taken off the do-not-call list for every tenant\n", "dnc", "remove", person, "--by", "ada")
	v.says(t, "+*********23 was not on the do-not-call list for every tenant\n", "dnc", "remove", person, "--by", "ada")
	var change dncChange
	v.json(t, &change, "dnc", "remove", "+33199001234", "--by", "ada")
	if change.Number != "+33199001234" || change.Changed || len(change.Kept) != 1 || change.Kept[0] != "paris" {
		t.Errorf("%+v", change)
	}

	v.fails(t, exitMisuse, "the number is too short", "dnc", "add", "415", "--by", "ada")
	v.fails(t, exitMisuse, "the default region is not one that is known (it was read as in region XX)", "dnc", "add", "4155550123", "--region", "xx", "--by", "ada")
	v.fails(t, exitMisuse, "there is no tenant nobody", "dnc", "add", person, "--tenant", "nobody", "--by", "ada")
}

func TestDncImport(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	const file = "\ufeffnumber,name\r\n" +
		"+14155550123,Ada\r\n" +
		"\r\n" +
		"# from the old system\r\n" +
		"\"(415) 555-0124\";Bob\r\n" +
		"415 555 0125\t\"Carol\"\r\n" +
		"nobody\r\n" +
		"+1 415 555 0123 x44\r\n" +
		"911"
	got := v.pipe(t, file, "dnc", "import", "-", "--by", "ada", "--source", "crm")
	const (
		says = "4 number(s) read: 3 put on the do-not-call list for every tenant, 1 on it already, 2 line(s) bad\n"
		told = "line 7: the number holds letters: write it in digits, and an extension as x44\nline 9: this is an emergency number\n" +
			"chasephone: 2 line(s) were not imported, the others were: correct them and import them again\n"
	)
	if got.code != exitFailed || got.out != says || got.err != told {
		t.Errorf("exit %d\n got %q\n and %q\nwant %q\n and %q", got.code, got.out, got.err, says, told)
	}
	if list := v.read(t, `select string_agg(e164 || ' ' || added_by || ' ' || source, ', ' order by e164) from do_not_call`); list != "+14155550123 ada crm, +14155550124 ada crm, +14155550125 ada crm" {
		t.Errorf("the list is %q", list)
	}
	var i imported
	v.json(t, &i, "dnc", "import", "/dev/null", "--by", "ada")
	if i != (imported{}) {
		t.Errorf("nothing is %+v", i)
	}
}

// TestDncImportInBatches: more than one statement, and a second import of the same changes nothing.
func TestDncImportInBatches(t *testing.T) {
	t.Parallel()
	v := newTerminal(t)
	const n = 2*importBatch + 1
	var file strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&file, "+1212%07d\n", 2_000_000+i)
	}
	for _, want := range []string{
		fmt.Sprintf("%d number(s) read: %d put on tenant default's do-not-call list, 0 on it already, 0 line(s) bad\n", n, n),
		fmt.Sprintf("%d number(s) read: 0 put on tenant default's do-not-call list, %d on it already, 0 line(s) bad\n", n, n),
	} {
		got := v.pipe(t, file.String(), "dnc", "import", "-", "--tenant", "default", "--by", "ada")
		if got.code != exitDone || got.out != want || got.err != "" {
			t.Errorf("exit %d, %q, %q; want %q", got.code, got.out, got.err, want)
		}
	}
}

// TestImportHoldsOneBatch: memory does not grow with the file, nor with a line of it.
func TestImportHoldsOneBatch(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	sizes := []int{}
	i := importing{region: "US", told: &told, put: func(numbers []phone.Number) (int, error) {
		sizes = append(sizes, len(numbers))
		return len(numbers), nil
	}}
	in := strings.Repeat("x", 3*longestLine) + "\n" + strings.Repeat("+14155550123\n", importBatch+1) + "+14155550123," + strings.Repeat("y", 3*longestLine)
	if err := i.run(strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(sizes) != fmt.Sprintf("[%d 2]", importBatch) || i.Read != importBatch+2 || i.Bad != 0 || cap(i.batch) > 2*importBatch {
		t.Errorf("batches of %v, %+v, told %q", sizes, i.imported, told.String())
	}
}

func TestFirstColumn(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"+14155550123":                "+14155550123",
		"  +14155550123  ":            "+14155550123",
		"+14155550123,Ada,x":          "+14155550123",
		"+14155550123;Ada":            "+14155550123",
		"+14155550123\tAda":           "+14155550123",
		`"+1 (415) 555-0123",Ada`:     "+1 (415) 555-0123",
		`"+14155550123`:               "+14155550123",
		"\ufeff+14155550123":          "+14155550123",
		"# comment":                   "",
		"   ":                         "",
		"":                            "",
		",Ada":                        "",
		"+1 415 555 0123,,44#":        "+1 415 555 0123",
		"415 555 0123 # rang herself": "415 555 0123 # rang herself",
	} {
		if got := firstColumn(in); got != want {
			t.Errorf("firstColumn(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestInputEndsWithItsContext: whoever interrupts an import that waits for a terminal is not
// kept waiting for another line.
func TestInputEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	never, w := io.Pipe()
	defer func() { _ = w.Close() }()
	in := process{stdin: never}.input(ctx)
	cancel()
	if _, err := io.ReadAll(in); !errors.Is(err, context.Canceled) {
		t.Errorf("the read ended with %v, want that it was cancelled", err)
	}
}
