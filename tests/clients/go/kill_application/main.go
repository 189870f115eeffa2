// The Go application of kill_test.py: each frame's effect is a row, which no constraint keeps from being there twice.
//
//	kill_application URL DATABASE [careless]
package main

import (
	"context"
	"database/sql"
	"log"
	"os"
	"time"

	"ackbox"

	_ "github.com/mattn/go-sqlite3"
)

type ball struct {
	N int `json:"n"`
}

func effect(tx *sql.Tx, frame *ackbox.Frame, data ball) (any, error) {
	_, err := tx.Exec("INSERT INTO effects(session, n) VALUES (?, ?)", frame.Session, data.N)
	return data, err
}

func main() {
	ctx := context.Background()
	isCareless := len(os.Args) > 3
	db, err := sql.Open("sqlite3", os.Args[2])
	check(err)
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS effects(session TEXT NOT NULL, n INTEGER NOT NULL)")
	check(err)
	marks := ackbox.Marks{DB: db}
	check(marks.Create(ctx))
	client, err := ackbox.New(os.Args[1], ackbox.Options{})
	check(err)
	options := ackbox.ReceiveOptions{Types: "for.go", Window: 16}
	check(client.Run(ctx, options, func(ctx context.Context, frame *ackbox.Frame) (any, error) {
		var data ball
		if err := frame.Decode(&data); err != nil {
			return nil, err
		}
		if data.N%40 == 7 && frame.Run == 1 {
			_, err := frame.Retry(ctx, "not at the first time", 10*time.Millisecond)
			return nil, err
		}
		if isCareless {
			return nil, careless(ctx, db, frame, data)
		}
		applied, err := marks.Apply(ctx, &frame.Event, func(tx *sql.Tx) (any, error) { return effect(tx, frame, data) })
		return applied.Result, err
	}))
}

// careless is what kill_test.py must find: nothing recognises a repetition, as the effect and the acknowledgement are
// apart for a while.
func careless(ctx context.Context, db *sql.DB, frame *ackbox.Frame, data ball) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := effect(tx, frame, data); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	return nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
