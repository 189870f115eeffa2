package tests

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"ackbox"

	_ "github.com/mattn/go-sqlite3"
)

func sessionEvent(sequence int64, origin string) *ackbox.Event {
	return &ackbox.Event{ID: "m", Source: "urn:agent:alice", Session: "s", Origin: origin, Sequence: sequence}
}

func loneEvent(id string) *ackbox.Event { return &ackbox.Event{ID: id, Source: "urn:agent:alice"} }

// store has the marks and a table of effects, which no constraint keeps from having one twice.
type store struct {
	*testing.T
	ackbox.Marks
}

// One database for all tests, as each connection of the bridge is a process.
var shared = func() *sql.DB {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1)
	return db
}()

func newStore(t *testing.T) store {
	t.Helper()
	db := shared
	for _, table := range []string{"ackbox_marks", "ackbox_mark_ids", "effects"} {
		if _, err := db.Exec("DROP TABLE IF EXISTS " + table); err != nil {
			t.Fatal(err)
		}
	}
	made := store{t, ackbox.Marks{DB: db}}
	for _, err := range []error{made.Create(context.Background()), made.Create(context.Background())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec("CREATE TABLE effects(id INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	return made
}

func (s store) expectEffects(wanted int) {
	s.Helper()
	var count int
	if err := s.DB.QueryRow("SELECT count(*) FROM effects").Scan(&count); err != nil || count != wanted {
		s.Fatalf("%d effects instead of %d: %v", count, wanted, err)
	}
}

// apply has an effect that returns result and failure.
func (s store) apply(event *ackbox.Event, result any, failure error) (ackbox.Applied, error) {
	return s.Apply(context.Background(), event, func(tx *sql.Tx) (any, error) {
		if _, err := tx.Exec("INSERT INTO effects DEFAULT VALUES"); err != nil {
			s.Fatal(err)
		}
		return result, failure
	})
}

func (s store) expect(event *ackbox.Event, result any, wantNew bool, wanted string) {
	s.Helper()
	applied, err := s.apply(event, result, nil)
	if err != nil || applied.IsNew != wantNew || string(applied.Result) != wanted {
		s.Fatalf("applied: %v %s %v", applied.IsNew, applied.Result, err)
	}
}

func TestARepetitionChangesNothingAndHasTheSameResult(t *testing.T) {
	s := newStore(t)
	for _, event := range []*ackbox.Event{sessionEvent(1, "o1"), loneEvent("a")} {
		s.expect(event, map[string]int{"n": 7}, true, `{"n":7}`)
		s.expect(event, "another", false, `{"n":7}`)
	}
	s.expectEffects(2)
}

func TestAnOlderNumberIsADuplicateAndASenderWithAnotherStoreBeginsAnew(t *testing.T) {
	s := newStore(t)
	s.expect(sessionEvent(math.MaxInt64-1, "o1"), "first", true, `"first"`)
	s.expect(sessionEvent(math.MaxInt64, "o1"), nil, true, "")
	s.expect(sessionEvent(math.MaxInt64, "o1"), nil, false, "")
	s.expect(sessionEvent(math.MaxInt64-1, "o1"), nil, false, "")
	s.expect(sessionEvent(1, "o2"), nil, true, "")
	s.expectEffects(3)
}

func TestAnErrorOfTheEffectUndoesEffectAndMark(t *testing.T) {
	s := newStore(t)
	failure := errors.New("no such item")
	for _, event := range []*ackbox.Event{sessionEvent(1, "o1"), loneEvent("a")} {
		if _, err := s.apply(event, nil, failure); !errors.Is(err, failure) {
			t.Fatal(err)
		}
	}
	s.expectEffects(0)
	s.expect(sessionEvent(1, "o1"), nil, true, "")
	s.expect(loneEvent("a"), nil, true, "")
}

func TestAResultThatJSONCannotHoldIsRefusedBeforeTheEffectCommits(t *testing.T) {
	s := newStore(t)
	for _, result := range []any{math.NaN(), "\xff", make(chan int), strings.Repeat("a", 65536)} {
		var wrong *ackbox.ValueError
		if _, err := s.apply(sessionEvent(1, "o1"), result, nil); !errors.As(err, &wrong) {
			t.Fatalf("%T: %v", result, err)
		}
	}
	s.expectEffects(0)
}

func TestAPanicOfTheEffectUndoesEffectAndMark(t *testing.T) {
	s := newStore(t)
	func() {
		defer func() { recover() }()
		s.Apply(context.Background(), loneEvent("a"), func(tx *sql.Tx) (any, error) { panic("bug") })
	}()
	s.expect(loneEvent("a"), nil, true, "")
}

func TestAnEffectThatEndsTheTransactionItselfIsReportedAndDoesNotHappenTwice(t *testing.T) {
	s := newStore(t)
	insertAnd := func(end func(*sql.Tx) error) ackbox.Effect {
		return func(tx *sql.Tx) (any, error) {
			if _, err := tx.Exec("INSERT INTO effects DEFAULT VALUES"); err != nil {
				t.Fatal(err)
			}
			return "result", end(tx)
		}
	}
	for _, event := range []*ackbox.Event{sessionEvent(1, "o1"), loneEvent("a")} {
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
			_, err := s.Apply(context.Background(), event, insertAnd(end))
			if err == nil || !strings.Contains(err.Error(), "leave Commit and Rollback to Apply") {
				t.Fatal(err)
			}
		}
		// It was committed without a result.
		s.expect(event, nil, false, "")
	}
	s.expectEffects(2)
}

func TestAnEffectBehindAStatementThatRollsBackIsReportedAndDoesNotHappenTwice(t *testing.T) {
	s := newStore(t)
	for _, event := range []*ackbox.Event{sessionEvent(1, "o1"), loneEvent("a")} {
		_, err := s.Apply(context.Background(), event, func(tx *sql.Tx) (any, error) {
			for _, statement := range []string{"ROLLBACK", "INSERT INTO effects DEFAULT VALUES"} {
				if _, err := tx.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			return "result", nil
		})
		if err == nil || !strings.Contains(err.Error(), "leave Commit and Rollback to Apply") {
			t.Fatal(err)
		}
		s.expect(event, nil, false, "")
	}
	s.expectEffects(2)
}

func TestMarksOfIDsAreForgottenByTheirAge(t *testing.T) {
	s := newStore(t)
	s.expect(loneEvent("a"), nil, true, "")
	s.expect(sessionEvent(1, "o1"), nil, true, "")
	for _, one := range []struct {
		olderThan time.Duration
		wanted    int64
	}{{time.Hour, 0}, {-time.Hour, 1}} {
		if count, err := s.ForgetIDs(context.Background(), one.olderThan); err != nil || count != one.wanted {
			t.Fatal(count, err)
		}
	}
	s.expect(loneEvent("a"), nil, true, "")
	s.expect(sessionEvent(1, "o1"), nil, false, "")
}
