package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Longest is the longest file of rules that is read, in bytes.
const Longest = 1 << 20

// document reads a text as YAML and gives what stands at its top. Of YAML only what a person
// takes in at a glance is accepted: one document, nothing that refers to something else, no types.
func document(text []byte) (*yaml.Node, Mistakes) {
	if len(text) > Longest {
		return nil, Mistakes{{1, "the file is larger than 1 MiB: is it the right one?"}}
	}
	if m, wrong := strange(text); wrong {
		return nil, Mistakes{m}
	}
	docs, err := decode(text)
	switch {
	case err != nil:
		return nil, Mistakes{syntax(text, err)}
	case len(docs) == 0 || empty(docs[0].Content[0]):
		return nil, Mistakes{{1, "the file is empty: write rules: and a list of them"}}
	case len(docs) > 1:
		return nil, Mistakes{{docs[1].Line, "a second document begins: put all rules under the first rules: and leave out the line ---"}}
	}
	top := docs[0].Content[0]
	return top, refuseReferences(top, nil)
}

// decode gives all documents of a text.
func decode(text []byte) (docs []*yaml.Node, err error) {
	// The library panics where it finds a fault of its own, such as a comment where it looks for
	// none. A file must not be able to end the program with that instead of a sentence.
	defer func() {
		if fault := recover(); fault != nil {
			docs, err = nil, fmt.Errorf("yaml: %v", fault)
		}
	}()
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		doc := &yaml.Node{}
		switch err := decoder.Decode(doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// strange finds what cannot be read as lines of text. Left in, some of it would also make the
// library count lines in another way than editors do.
func strange(text []byte) (Mistake, bool) {
	line := 1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		rest := text[i+size:]
		switch {
		case r == utf8.RuneError && size == 1:
			return Mistake{line, "there are bytes that are not UTF-8: save the file as UTF-8"}, true
		case r == '\n':
			line++
		case r == '\r' && !bytes.HasPrefix(rest, []byte("\n")):
			return Mistake{line, "a line ends in a bare carriage return: end lines with a newline"}, true
		case r == '\uFEFF' && i == 0, r == '\t', r == '\r':
		case r < ' ', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r == '\uFEFF', r == '\uFFFE', r == '\uFFFF':
			return Mistake{line, fmt.Sprintf("there is the invisible character %U: delete it", r)}, true
		}
		i += size
	}
	return Mistake{}, false
}

// mostSearched bounds how long the line of a mistake is looked for: lines times bytes of the text.
const mostSearched = 1 << 26

// syntax says where a text stops being YAML, and why. The library often names the line where it
// began to read something, pages above the mistake; and sometimes none. What helps is the line
// after the longest beginning of the text that reads well.
func syntax(text []byte, err error) Mistake {
	why, line := reason(err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	line = min(max(line, 1), len(lines))
	if len(lines)*len(text) <= mostSearched {
		for line = len(lines); line > 1; line-- {
			if _, err := decode(bytes.Join(lines[:line-1], nil)); err == nil {
				break
			}
		}
	}
	bad := lines[line-1]
	if indent := bad[:len(bad)-len(bytes.TrimLeft(bad, " \t"))]; bytes.ContainsRune(indent, '\t') {
		return Mistake{line, "there is a tab before the text: indent with spaces"}
	}
	return Mistake{line, "from here on it is not YAML (" + why + "): look at the indentation, colons, quotes and brackets"}
}

// reason is what the library says, without the line it names, and that line.
func reason(err error) (why string, line int) {
	why = strings.TrimPrefix(err.Error(), "yaml: ")
	if found := regexp.MustCompile(`^line ([0-9]{1,7}): (.*)`).FindStringSubmatch(why); found != nil {
		_, _ = fmt.Sscan(found[1], &line) // digits
		why = found[2]
	}
	return oneLine(why), line
}

// oneLine shows what the library says, in which something of the file may stand, or the name of
// an anchor, in which anything may.
func oneLine(s string) string {
	const longest = 100
	shown := strconv.QuoteToGraphic(s)
	shown = shown[1 : len(shown)-1]
	return string([]rune(shown)[:min(longest, utf8.RuneCountInString(shown))])
}

// refuseReferences finds anchors, aliases, merges and types: with them a rule is not what it
// reads like where it stands.
func refuseReferences(n *yaml.Node, found Mistakes) Mistakes {
	switch {
	case n.Kind == yaml.AliasNode:
		found = append(found, Mistake{n.Line, "*" + oneLine(n.Value) + " refers to another place: write out what is meant"})
	case n.Anchor != "":
		found = append(found, Mistake{n.Line, "&" + oneLine(n.Anchor) + " is a name to refer to: leave it out"})
	case n.Style&yaml.TaggedStyle != 0:
		found = append(found, Mistake{n.Line, "the type " + quote(n.Tag) + " is written before the value: leave it out"})
	case n.Kind == yaml.ScalarNode && n.Tag == "!!merge":
		found = append(found, Mistake{n.Line, "<< takes over keys from another place: write them out"})
	}
	for _, inner := range n.Content { // those of an alias stand at its anchor
		found = refuseReferences(inner, found)
	}
	return found
}

// empty reports whether a value was left out, or written as ~ or null.
func empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
