package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// fileSuffix makes of a variable's name that of the variable which names a file instead.
const fileSuffix = "_FILE"

// variable is one variable of the environment, as its field's tags say.
type variable struct {
	name    string
	preset  string // the default, as it would be written in the environment
	title   string // of its group
	typ     reflect.Type
	tag     reflect.StructTag
	secret  bool
	example string
	with    string // the variable of the same account that it comes together with, if any
}

// variables are all of Config, in its order.
func variables() []variable { return collect(reflect.TypeFor[Config](), "", nil) }

func collect(group reflect.Type, title string, found []variable) []variable {
	for field := range group.Fields() {
		if t, ok := field.Tag.Lookup("title"); ok {
			found = collect(field.Type, t, found)
			continue
		}
		name, ok := field.Tag.Lookup("env")
		if !ok {
			continue
		}
		found = append(found, variable{
			name:    name,
			preset:  field.Tag.Get("envDefault"),
			title:   title,
			typ:     field.Type,
			tag:     field.Tag,
			secret:  field.Tag.Get("secret") == "true",
			example: field.Tag.Get("example"),
			with:    field.Tag.Get("with"),
		})
	}
	return found
}

// clean checks a value and gives the one spelling of it that the parser is to see. Every
// value passes here, so nothing that the parser might object to reaches it.
func (v variable) clean(raw string) (value string, ok bool) {
	lowest, highest := v.tag.Get("min"), v.tag.Get("max")
	switch v.typ {
	case reflect.TypeFor[time.Duration]():
		return cleanDuration(raw, lowest, highest)
	case reflect.TypeFor[int]():
		return cleanInteger(raw, lowest, highest)
	case reflect.TypeFor[float64]():
		return cleanDecimal(raw, lowest, highest)
	case reflect.TypeFor[bool]():
		return cleanSwitch(raw)
	}
	if words, ok := v.tag.Lookup("oneof"); ok {
		return cleanWord(raw, strings.Fields(words))
	}
	return cleanForm(v.tag.Get("form"), raw)
}

// accepts says in words what clean accepts. What is bounded or enumerated is said from the
// very tags that bound it.
func (v variable) accepts() string {
	lowest, highest := v.tag.Get("min"), v.tag.Get("max")
	switch v.typ {
	case reflect.TypeFor[time.Duration]():
		such := v.preset
		if such == lowest { // 0s shows nothing of how one is written
			such = highest
		}
		return fmt.Sprintf("a duration from %s to %s in whole milliseconds, with its unit, such as %s", lowest, highest, such)
	case reflect.TypeFor[int]():
		return fmt.Sprintf("a whole number from %s to %s", lowest, highest)
	case reflect.TypeFor[float64]():
		return fmt.Sprintf("a decimal number from %s to %s with at most three places", lowest, highest)
	case reflect.TypeFor[bool]():
		return "on or off"
	}
	if words, ok := v.tag.Lookup("oneof"); ok {
		return listed(strings.Fields(words))
	}
	return v.tag.Get("accepts")
}

// needed reports whether an account is none without it.
func (v variable) needed() bool { return v.tag.Get("needed") == "true" }

// doc says what the variable is.
func (v variable) doc() string { return v.tag.Get("doc") }

// listed writes words as "a, b or c".
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
