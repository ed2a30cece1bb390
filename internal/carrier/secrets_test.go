package carrier

import "testing"

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	tr := NewTransport(Options{})
	tr.Hide("hunter2", "", "abc", "other-secret", "a/b+c=d")
	for in, want := range map[string]string{
		"no such user: hunter2": "no such user: [hidden]",
		"hunter2 hunter2":       "[hidden] [hidden]",
		"other-secret, or abc":  "[hidden], or abc", // a few letters would take every answer apart
		`a/b+c=d a\/b+c=d a%2Fb%2Bc%3Dd a\u002fb\u002bc\u003dd`: "[hidden] [hidden] [hidden] [hidden]",
		"nothing of the kind":           "nothing of the kind",
		`{"message": "who is hunter2"}`: `{"message": "who is [hidden]"}`,
	} {
		if got := tr.Hidden(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
