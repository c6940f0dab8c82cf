package payments

import (
	"os"
	"testing"
)

func TestRefundsSurviveARestart(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/pay ?#%41.db" // every character that a database URI could misread
	first := start(t, Config{DB: path, Dedupe: true})
	paid, err := first.Refund(ctx(t), "k", order1842)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	second := start(t, Config{DB: path, Dedupe: true})
	if n, err := second.WaitCommitted(ctx(t), 1); err != nil || n != 1 {
		t.Fatalf("counted %d, %v after the restart, want 1", n, err)
	}
	if again, err := second.Refund(ctx(t), "k", order1842); err != nil || again != paid {
		t.Fatalf("the key answered %v, %v, want %v", again, err, paid)
	}
	second.paid(t, 1)
}

func TestEveryCommitIsSyncedToDisk(t *testing.T) {
	t.Parallel()
	st, err := openStore(t.TempDir() + "/p.db")
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	var mode string
	var level int
	if err := st.db.QueryRow(`PRAGMA journal_mode`).Scan(&mode); err != nil {
		t.Fatal(err)
	}
	if err := st.db.QueryRow(`PRAGMA synchronous`).Scan(&level); err != nil {
		t.Fatal(err)
	}
	if mode != "wal" || level != 2 {
		t.Fatalf("journal_mode %s, synchronous %d, want wal and 2 (FULL)", mode, level)
	}
}

func TestDatabaseThatCannotBeOpenedIsAnErrorOfNew(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{DB: t.TempDir() + "/missing/p.db"}); err == nil {
		t.Fatal("New opened a database in a folder that does not exist")
	}
}
