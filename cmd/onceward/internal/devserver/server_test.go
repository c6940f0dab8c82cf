package devserver

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

func TestArgumentsBindLoopbackAndRegisterAttributes(t *testing.T) {
	t.Parallel()
	args := arguments(Config{Port: 7001, UIPort: 7002, DB: "x.db", Attributes: map[string]enumspb.IndexedValueType{
		"B": enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST, "A": enumspb.INDEXED_VALUE_TYPE_INT,
	}})
	line := strings.Join(args, " ")
	for _, want := range []string{
		"--ip 127.0.0.1", "--port 7001", "--ui-port 7002", "--db-filename x.db",
		"--search-attribute A=Int --search-attribute B=KeywordList", "system.enableActivityEagerExecution=true",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is missing in %s", want, line)
		}
	}
	if slices.Contains(arguments(Config{}), "--db-filename") {
		t.Error("a server without a file was given one")
	}
}

func TestChildIsGoneAfterStopAndKill(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *Child) error{
		"stop": func(c *Child) error { c.Stop(10 * time.Second); return nil },
		"kill": (*Child).Kill,
	} {
		c, err := StartChild(exec.Command("sleep", "600"))
		if err != nil {
			t.Skip("there is no sleep here: ", err)
		}
		if err := end(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case <-c.Done():
		default:
			t.Errorf("%s: the child is still there", name)
		}
		if c.Err() == nil {
			t.Errorf("%s: the child ended by itself", name)
		}
	}
	if _, err := StartChild(exec.Command("/nowhere/at/all")); err == nil {
		t.Error("a child that cannot start gave no error")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var out Tail
	if _, err := out.Write(bytes.Repeat([]byte("x"), maxOutput)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte("\nthe end\n")); err != nil {
		t.Fatal(err)
	}
	if said := note(&out); len(out.buf) != maxOutput || !strings.HasSuffix(said, "| the end") {
		t.Errorf("%d bytes are kept, the note ends in %q", len(out.buf), said[len(said)-20:])
	}
}
