package config

import (
	"reflect"
	"testing"
)

// TestTags: what no other test would notice of a field added in a hurry.
func TestTags(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range variables() {
		if seen[v.name] {
			t.Errorf("%s is there twice", v.name)
		}
		seen[v.name] = true
		if v.doc() == "" || v.accepts() == "" || v.title == "" {
			t.Errorf("%s: doc %q, accepts %q, title %q", v.name, v.doc(), v.accepts(), v.title)
		}
		shown := v.preset + v.example
		if _, ok := v.clean(shown); !ok || (v.preset == "") == (v.example == "") {
			t.Errorf("%s: default %q and example %q: one of them must be there, and right", v.name, v.preset, v.example)
		}
		if hides := v.typ == reflect.TypeFor[Secret](); v.secret != hides {
			t.Errorf("%s: secret is %t, and its field is a %v", v.name, v.secret, v.typ)
		}
	}
}
