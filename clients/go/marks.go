package ackbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var marksSchema = []string{
	"CREATE TABLE IF NOT EXISTS ackbox_marks (source TEXT NOT NULL, origin TEXT NOT NULL, session TEXT NOT NULL, " +
		"sequence BIGINT NOT NULL, result TEXT, PRIMARY KEY (source, origin, session))",
	"CREATE TABLE IF NOT EXISTS ackbox_mark_ids (source TEXT NOT NULL, id TEXT NOT NULL, applied_at_ms BIGINT NOT NULL, " +
		"result TEXT, PRIMARY KEY (source, id))",
}

const (
	markSequence = "INSERT INTO ackbox_marks (source, origin, session, sequence) VALUES (?, ?, ?, ?) " +
		"ON CONFLICT (source, origin, session) DO UPDATE SET sequence = excluded.sequence, result = NULL " +
		"WHERE excluded.sequence > ackbox_marks.sequence"
	wherePlace = " WHERE source = ? AND origin = ? AND session = ? AND sequence = ?"
	markID     = "INSERT INTO ackbox_mark_ids (source, id, applied_at_ms) VALUES (?, ?, ?) ON CONFLICT (source, id) DO NOTHING"
	whereID    = " WHERE source = ? AND id = ?"
)

var errMarkIsGone = errors.New("the effect has ended the transaction itself: leave Commit and Rollback to Apply")

// Marks give each message its effect once in the application's own database: the mark of a message commits together
// with its effect.
//
// A daemon may give a message more than once, as after a crash between the effect and its settlement. Within a session
// numbers only grow, so one row a session recognises repetitions for ever. A message outside any session is recognised by
// its source and id, by a row of its own. The tables are those of the other clients and of the SQL functions.
//
// Safe for concurrent use.
type Marks struct {
	// DB is of a database with ON CONFLICT, such as SQLite and PostgreSQL.
	DB *sql.DB
	// Numbered: the driver writes parameters as $1, as those for PostgreSQL do, and not as ?.
	Numbered bool
}

// Applied is what became of a message.
type Applied struct {
	// IsNew is false where the message had taken effect before, and nothing was called.
	IsNew bool
	// Result is what the effect returned; of a duplicate, what it returned then, where that is still known; nil: nothing.
	Result json.RawMessage
}

// Effect writes by tx, and neither commits nor rolls back. Its result is for the sender.
type Effect func(tx *sql.Tx) (result any, err error)

// Create makes the tables of the marks, unless they exist. Call it once, when the application starts.
func (m Marks) Create(ctx context.Context) error {
	for _, statement := range marksSchema {
		if _, err := m.DB.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Apply calls effect and commits its writes with the mark of event; a duplicate calls nothing. Pass the result to
// Frame.Ack, or return it from a Handler.
//
// An error of effect is returned after a rollback: then neither effect nor mark is there. So is a *ValueError where the
// result is not JSON that Frame.Ack takes. An effect that ends the transaction itself is an error, too; if anything of it
// was committed, a repetition is recognised.
func (m Marks) Apply(ctx context.Context, event *Event, effect Effect) (Applied, error) {
	tx, err := m.DB.BeginTx(ctx, nil)
	if err != nil {
		return Applied{}, err
	}
	defer tx.Rollback() // Also in a panic; nothing after Commit.
	applied, err := m.applyIn(ctx, tx, event, effect)
	if err == nil {
		err = tx.Commit()
	}
	if err == errMarkIsGone {
		// By the statement ROLLBACK: what the effect wrote after it is committed, and must not happen again.
		tx.Rollback()
		mark, values := markOf(event)
		_, marked := m.DB.ExecContext(ctx, m.written(mark), values...)
		return Applied{}, joined(err, marked)
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() == nil {
		err = joined(errMarkIsGone, err)
	}
	if err != nil {
		return Applied{}, err
	}
	return applied, nil
}

func (m Marks) applyIn(ctx context.Context, tx *sql.Tx, event *Event, effect Effect) (Applied, error) {
	mark, values := markOf(event)
	table, where, key := "ackbox_marks", wherePlace, values
	if event.Sequence == 0 {
		table, where, key = "ackbox_mark_ids", whereID, values[:2:2]
	}
	// The mark comes first: in SQLite, a transaction that reads first may fail when it wants to write.
	marked, err := tx.ExecContext(ctx, m.written(mark), values...)
	if err != nil {
		return Applied{}, err
	}
	changed, err := marked.RowsAffected()
	if err != nil {
		return Applied{}, err
	}
	if changed == 0 {
		var kept sql.NullString
		row := tx.QueryRowContext(ctx, m.written("SELECT result FROM "+table+where), key...)
		if err := row.Scan(&kept); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return Applied{}, err
		}
		if !kept.Valid {
			return Applied{}, nil
		}
		return Applied{Result: json.RawMessage(kept.String)}, nil
	}
	result, err := effect(tx)
	if err != nil {
		return Applied{}, err
	}
	text, err := resultToJSON(result, "result")
	if err != nil {
		return Applied{}, err
	}
	keep := m.written("UPDATE " + table + " SET result = ?" + where)
	kept, err := tx.ExecContext(ctx, keep, append([]any{sql.NullString{String: string(text), Valid: text != nil}}, key...)...)
	if err != nil {
		return Applied{}, err
	}
	if changed, err := kept.RowsAffected(); err != nil || changed == 0 {
		return Applied{}, joined(errMarkIsGone, err)
	}
	return Applied{IsNew: true, Result: text}, nil
}

// markOf is the statement that marks event, and its parameters, which begin with the key of the row.
func markOf(event *Event) (string, []any) {
	if event.Sequence != 0 {
		return markSequence, []any{event.Source, event.Origin, event.Session, event.Sequence}
	}
	return markID, []any{event.Source, event.ID, time.Now().UnixMilli()}
}

// joined is err alone where there is no cause.
func joined(err, cause error) error {
	if cause == nil {
		return err
	}
	return fmt.Errorf("%v: %w", err, cause)
}

// ForgetIDs deletes the marks of messages outside sessions that are older than olderThan, such as 30 days, and returns how
// many. It must be longer than a sender goes on trying, which is 7 days by default (retry.horizon).
func (m Marks) ForgetIDs(ctx context.Context, olderThan time.Duration) (int64, error) {
	limit := time.Now().Add(-olderThan).UnixMilli()
	deleted, err := m.DB.ExecContext(ctx, m.written("DELETE FROM ackbox_mark_ids WHERE applied_at_ms < ?"), limit)
	if err != nil {
		return 0, err
	}
	return deleted.RowsAffected()
}

// written is a statement in the driver's way of writing parameters.
func (m Marks) written(statement string) string {
	if !m.Numbered {
		return statement
	}
	var text strings.Builder
	for index, part := range strings.Split(statement, "?") {
		if index > 0 {
			text.WriteString("$" + strconv.Itoa(index))
		}
		text.WriteString(part)
	}
	return text.String()
}
