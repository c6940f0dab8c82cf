package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is one thing that is wrong with a configuration. Reason says what and,
// where it is not obvious, what to write instead. Neither it nor Key repeats a
// value: people paste keys into any field, and messages end in logs. Only words
// of this package's own are said, and names that do not look like credentials.
type Mistake struct {
	File   string // empty for a Config that was made in code
	Line   int    // zero when no line can be named
	Key    string // such as tasks.refund.model, or the environment variable
	Reason string

	column int // of a key that is not to be named
}

func (m Mistake) String() string {
	where := m.File
	if m.Line > 0 {
		where = fmt.Sprintf("%s:%d", m.File, m.Line)
	}
	parts := make([]string, 0, 3)
	for _, part := range []string{where, m.Key, m.Reason} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// ConfigError holds every mistake of a configuration, so that one start is
// enough to see them all. Its text has one mistake a line.
type ConfigError struct{ Mistakes []Mistake }

func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// inOrder sorts mistakes by line and key and keeps the first of each key: a
// value that could not be read is not reported as missing as well.
func inOrder(mistakes []Mistake) []Mistake {
	type place struct {
		line, column int
		key          string
	}
	seen, out := map[place]bool{}, []Mistake(nil)
	for _, m := range mistakes {
		at := place{m.Line, m.column, m.Key}
		if m.Key == "" || !seen[at] {
			out = append(out, m)
		}
		seen[at] = true
	}
	slices.SortStableFunc(out, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// closest returns the known word that a misspelt one most likely means, or "".
func closest(word string, known []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, candidate := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d <= bestDistance && d < len(candidate) {
			if best == "" || d < bestDistance {
				best, bestDistance = candidate, d
			}
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := previous
			if a[i] != b[j] {
				substitute++
			}
			previous = row[j+1]
			row[j+1] = min(substitute, row[j]+1, previous+1)
		}
	}
	return row[len(b)]
}

// didYouMean words the suggestion of closest, or returns "". The known words may
// be names of the file.
func didYouMean(word string, known []string) string {
	if guess := closest(word, known); sayable(guess) {
		return fmt.Sprintf("; did you mean %s?", guess)
	}
	return ""
}
