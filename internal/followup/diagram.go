package followup

import (
	"fmt"
	"strings"
)

// Diagram is Transitions as a Mermaid state diagram, for the documentation.
func Diagram() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> due\n    due --> due: a gate says wait\n")
	for _, t := range Transitions() {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", t.From, t.To, strings.ReplaceAll(t.When, ":", " -"))
	}
	for _, s := range States() {
		if s.Final() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
	return b.String()
}
