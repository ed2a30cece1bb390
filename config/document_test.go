package config_test

import (
	"flag"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"chasephone/config"
)

var update = flag.Bool("update", false, "write example.env, and the table into README.md, instead of comparing")

const (
	examplePath = "example.env"
	readmePath  = "../README.md"
	tableBegin  = "<!-- environment:begin -->\n"
	tableEnd    = "<!-- environment:end -->"
)

// documented are the names of Config's fields, read from its tags by other means than the
// package's own.
func documented(t testing.TB) []string {
	t.Helper()
	var names []string
	var walk func(reflect.Type)
	walk = func(group reflect.Type) {
		for field := range group.Fields() {
			if name, ok := field.Tag.Lookup("env"); ok {
				names = append(names, name)
			} else if field.IsExported() && field.Type.Kind() == reflect.Struct {
				walk(field.Type)
			}
		}
	}
	walk(reflect.TypeFor[config.Config]())
	return names
}

// TestREADME keeps the README's table of variables true.
func TestREADME(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatalf("README.md cannot be read (%v): write it with a line %q and a line %q in it, then run `make generate`",
			err, strings.TrimSpace(tableBegin), tableEnd)
	}
	before, rest, ok := strings.Cut(string(content), tableBegin)
	table, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("README.md has no lines %q and %q, between which the table of variables belongs", strings.TrimSpace(tableBegin), tableEnd)
	}
	if table == config.Table() {
		return
	}
	if !*update {
		t.Fatal("README.md's table of variables is not what package config says: run `make generate`")
	}
	if err := os.WriteFile(readmePath, []byte(before+tableBegin+config.Table()+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestExample keeps example.env true: it is what the tags say, has every field, and gives
// the defaults.
func TestExample(t *testing.T) {
	t.Parallel()
	if *update {
		if err := os.WriteFile(examplePath, []byte(config.Example()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	if text != config.Example() {
		t.Error("example.env is not what package config says: run `make generate`")
	}
	for _, name := range documented(t) {
		if n := len(regexp.MustCompile(`(?m)^#?`+name+`=.`).FindAllString(text, -1)); n != 1 {
			t.Errorf("%s is in example.env %d times, want once", name, n)
		}
	}
	embedded := config.Options{Embedded: true}
	if got, want := load(t, embedded, settings(text)...), load(t, embedded); !reflect.DeepEqual(got, want) {
		t.Errorf("example.env gives\n%+v\nnot the defaults\n%+v", got, want)
	}
	// The examples are right, too: with every one of them in force it still loads, but that only
	// one carrier can have the default line.
	all := regexp.MustCompile(`(?m)^#([A-Z_]+=)`).ReplaceAllString(text, "$1")
	for _, carrier := range []string{"TWILIO", "TELNYX", "SIP"} {
		one := slices.DeleteFunc(settings(all), func(set string) bool {
			name, _, _ := strings.Cut(set, "=")
			return strings.HasSuffix(name, "_FROM") && name != carrier+"_FROM"
		})
		c := load(t, config.Options{}, one...).Carriers
		if !c.Twilio.Configured() || !c.Telnyx.Configured() || !c.SIP.Configured() {
			t.Errorf("the examples leave a carrier out: %+v", c)
		}
	}
}

// settings are the lines of an environment file that set something.
func settings(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestTable(t *testing.T) {
	t.Parallel()
	table := config.Table()
	for _, name := range documented(t) {
		if !strings.Contains(table, "\n| `"+name+"` | ") {
			t.Errorf("%s has no row", name)
		}
	}
	for row := range strings.Lines(table) {
		if n := strings.Count(strings.ReplaceAll(row, `\|`, ""), "|"); n != 5 {
			t.Errorf("row %q has %d bars, want 5", row, n)
		}
		if strings.Contains(row, "|  |") {
			t.Errorf("row %q has an empty cell", row)
		}
	}
}
