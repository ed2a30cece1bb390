package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"chasephone/internal/spelling"
)

// mostTold is how many mistakes are told at once.
const mostTold = 20

// Mistakes are what is wrong with a file of rules, by line: the error of Parse. Where there are
// more than twenty the last one says how many follow.
type Mistakes []Mistake

// Error is one line for each mistake.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, mistake := range m {
		lines[i] = mistake.Error()
	}
	return strings.Join(lines, "\n")
}

// Mistake is one thing wrong with a file of rules.
type Mistake struct {
	Line int
	Says string // one line, and what to do about it
}

// Error is "line 12: …".
func (m Mistake) Error() string { return "line " + strconv.Itoa(m.Line) + ": " + m.Says }

// asError is nil where there is no mistake; else those that are told, in the order of the file.
func (m Mistakes) asError() error {
	if len(m) == 0 {
		return nil
	}
	slices.SortStableFunc(m, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	if more := len(m) - mostTold; more > 0 {
		m = m[:mostTold:mostTold]
		last := &m[mostTold-1]
		last.Says = fmt.Sprintf("%s (and %d more from here on)", last.Says, more)
	}
	return m
}

// longestShown bounds, in letters, what is shown of a file: the wrong file may have been named.
const longestShown = 40

// quote shows a text of the file on one line.
func quote(s string) string {
	letters := []rune(s)
	if len(letters) > longestShown {
		return strconv.Quote(string(letters[:longestShown])) + "..."
	}
	return strconv.Quote(s)
}

// nearest is the word among known ones that an unknown one was most likely meant to be, or "".
func nearest(word string, known []string) string {
	const farthest = 2            // letters to change, add, drop or swap
	const longestUnlike = 3       // letters of words so short that all are near each other
	if len(word) > longestShown { // no key is as long, and a file may be a huge one
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", farthest+1
	for _, candidate := range known {
		if d := spelling.Distance(word, candidate); d < least && len(candidate) > longestUnlike {
			best, least = candidate, d
		}
	}
	return best
}
