package payments

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver named sqlite, without cgo
)

// maxListed bounds what one read of an action's refunds returns.
const maxListed = 1000

const schema = `
CREATE TABLE IF NOT EXISTS refunds (
	id           INTEGER PRIMARY KEY AUTOINCREMENT,
	key          TEXT    NOT NULL,
	action_id    TEXT    NOT NULL,
	order_id     TEXT    NOT NULL,
	amount_cents INTEGER NOT NULL,
	reason       TEXT    NOT NULL,
	committed_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS refunds_key    ON refunds (key);
CREATE INDEX IF NOT EXISTS refunds_action ON refunds (action_id);
CREATE INDEX IF NOT EXISTS refunds_order  ON refunds (order_id);`

// store keeps refunds in SQLite. The key is indexed but not unique: without dedupe every request is paid.
// The zero value is not usable. It is safe for concurrent use.
type store struct {
	db *sql.DB
}

// openStore opens or creates the file; "" or ":memory:" keeps the refunds in memory.
func openStore(path string) (*store, error) {
	// synchronous FULL fsyncs the write-ahead log at every commit: NORMAL would let a refund that was answered
	// with 201 disappear with the machine's power. An immediate transaction takes the write lock before it looks
	// for the key, so two requests with one key cannot both find it unused.
	options := url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
	}
	dsn := "file::memory:?" + options.Encode()
	if path != "" && path != ":memory:" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("open database %s: %w", path, err)
		}
		dsn = (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: options.Encode()}).String()
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	// One connection: SQLite has one writer anyway, and a second connection to memory would be a second database.
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(0)
	db.SetConnMaxLifetime(0)
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("create tables in %s: %w", path, err), db.Close())
	}
	return &store{db: db}, nil
}

func refundID(row int64) string { return fmt.Sprintf("rf-%06d", row) }

// pay writes a refund and has it on disk when it returns. With dedupe a key that was used before gives the first
// refund and fresh is false; with another body it is a refusal.
func (s *store) pay(key string, in RefundRequest, dedupe bool, at time.Time) (out Refund, fresh bool, err error) {
	// Not the request's context: a client that hangs up between the write and its commit must not undo it.
	ctx := context.Background()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return Refund{}, false, fmt.Errorf("begin refund: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if dedupe {
		var row int64
		var first RefundRequest
		err := tx.QueryRowContext(ctx,
			`SELECT id, action_id, order_id, amount_cents, reason FROM refunds WHERE key = ? ORDER BY id LIMIT 1`, key).
			Scan(&row, &first.ActionID, &first.OrderID, &first.AmountCents, &first.Reason)
		switch {
		case err == nil && first != in:
			return Refund{}, false, errKeyReused
		case err == nil:
			return Refund{refundID(row), in.ActionID, in.OrderID, in.AmountCents}, false, nil
		case !errors.Is(err, sql.ErrNoRows):
			return Refund{}, false, fmt.Errorf("look up key: %w", err)
		}
	}
	result, err := tx.ExecContext(ctx,
		`INSERT INTO refunds (key, action_id, order_id, amount_cents, reason, committed_at) VALUES (?, ?, ?, ?, ?, ?)`,
		key, in.ActionID, in.OrderID, in.AmountCents, in.Reason, at.UnixNano())
	if err != nil {
		return Refund{}, false, fmt.Errorf("write refund: %w", err)
	}
	row, err := result.LastInsertId()
	if err != nil {
		return Refund{}, false, fmt.Errorf("number refund: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return Refund{}, false, fmt.Errorf("commit refund: %w", err)
	}
	return Refund{refundID(row), in.ActionID, in.OrderID, in.AmountCents}, true, nil
}

// byAction lists the action's refunds committed up to then (Unix nanoseconds), oldest first, at most
// maxListed. It is never nil without an error.
func (s *store) byAction(id string, upTo int64) ([]Refund, error) {
	rows, err := s.db.Query(
		`SELECT id, action_id, order_id, amount_cents FROM refunds WHERE action_id = ? AND committed_at <= ? ORDER BY id LIMIT ?`,
		id, upTo, maxListed)
	if err != nil {
		return nil, fmt.Errorf("read refunds: %w", err)
	}
	defer rows.Close()
	out := []Refund{}
	for rows.Next() {
		var row int64
		var r Refund
		if err := rows.Scan(&row, &r.ActionID, &r.OrderID, &r.AmountCents); err != nil {
			return nil, fmt.Errorf("read refund: %w", err)
		}
		r.RefundID = refundID(row)
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read refunds: %w", err)
	}
	return out, nil
}

func (s *store) refunded(order string) (bool, error) {
	var yes bool
	err := s.db.QueryRow(`SELECT EXISTS (SELECT 1 FROM refunds WHERE order_id = ?)`, order).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("read order: %w", err)
	}
	return yes, nil
}

func (s *store) stats() (Stats, error) {
	rows, err := s.db.Query(`SELECT action_id, count(*) FROM refunds GROUP BY action_id`)
	if err != nil {
		return Stats{}, fmt.Errorf("count refunds: %w", err)
	}
	defer rows.Close()
	out := Stats{ByAction: map[string]int{}}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return Stats{}, fmt.Errorf("count refunds: %w", err)
		}
		out.ByAction[id] = n
		out.Refunds += n
	}
	if err := rows.Err(); err != nil {
		return Stats{}, fmt.Errorf("count refunds: %w", err)
	}
	return out, nil
}

func (s *store) close() error { return s.db.Close() }
