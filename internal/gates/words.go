package gates

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// words refuses a call that would say nothing, or more than its carrier can be given. A line's
// URL speaks instead of the script.
func words() Gate {
	return Gate{GateWords, func(c Case) Verdict {
		silent := strings.TrimSpace(c.Script) == ""
		switch {
		case c.Line.URL != "":
			return Pass{}
		case silent && !c.Line.Exists: // the line to come may have a URL
			return Pass{Grounds{Code: CodeNoLine}}
		case silent:
			return Refuse{Grounds{Code: CodeNoWords}}
		}
		if c.Line.TooLong {
			return Refuse{Grounds{CodeScriptTooLong, map[string]string{"length": strconv.Itoa(utf8.RuneCountInString(c.Script))}}}
		}
		return Pass{}
	}}
}
