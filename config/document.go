package config

import (
	"fmt"
	"strings"
)

// Table is the environment as a Markdown table, for the README.
func Table() string {
	var b strings.Builder
	b.WriteString("| Variable | Default | Accepts | What it is |\n| --- | --- | --- | --- |\n")
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`)
	for _, v := range variables() {
		preset := unset
		if v.preset != "" {
			preset = "`" + v.preset + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.name, preset, cell.Replace(v.accepts()), cell.Replace(v.doc()))
	}
	return b.String()
}

// Example is the environment as a file of NAME=value lines, such as systemd's EnvironmentFile and
// docker's --env-file read: the text of example.env. Read as it is, it gives the defaults.
func Example() string {
	var b strings.Builder
	b.WriteString(`# The environment of chasephone: every variable, with its default.
# A line with a # before its name is unset; the value there is an example.
# Every variable can also be set as NAME_FILE, the path of a file that holds the value.
# Names that begin with PHONE_FOLLOWUP_, GATE_ or IDEMPOTENCY_ and are not here are mistakes.
`)
	title := ""
	for _, v := range variables() {
		if v.title != title {
			title = v.title
			fmt.Fprintf(&b, "\n\n## %s\n", title)
		}
		fmt.Fprintf(&b, "\n# %s\n# Accepts %s.\n", v.doc(), v.accepts())
		if v.preset != "" {
			fmt.Fprintf(&b, "%s=%s\n", v.name, v.preset)
		} else {
			fmt.Fprintf(&b, "#%s=%s\n", v.name, v.example)
		}
	}
	return b.String()
}
