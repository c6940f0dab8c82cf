// Command gendocs writes docs/failures.md from the class table. Run it with
// "go generate ./router/classify" from the root of the module.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/onceward/onceward"
)

//go:embed head.md
var head string

func main() {
	out := flag.String("out", "docs/failures.md", "the file to write")
	flag.Parse()
	if err := os.WriteFile(*out, []byte(render()), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "write %s: %v\n", *out, err)
		os.Exit(1)
	}
}

// render is the page: the head, then a row for each class.
func render() string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| class | meaning | walk advances | final | retry same | effect on health | scope | repair | exclusion |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range onceward.Classes() {
		effect := string(r.StateEffect)
		if r.Window > 0 {
			effect += fmt.Sprintf(" (%v)", r.Window)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Class, r.Meaning, yes(r.FallbackEligible), yes(r.Final), yes(r.Retryable), effect, r.Scope, dash(string(r.Repair)), r.Exclude)
	}
	return b.String()
}

func yes(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
