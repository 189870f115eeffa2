// The Go application of values_test.py: enqueues each value at alice, and answers each frame at bob with its data.
//
//	values_application ALICE BOB < VALUES
//
// VALUES: [[index, bytes in hexadecimal], …]. Prints what the client refused, by index: "data" or "result".
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"ackbox"
)

var (
	ctx     = context.Background()
	refused = map[int]string{}
)

// note reports whether the value was taken.
func note(index int, what string, err error) bool {
	var wrong *ackbox.ValueError
	if errors.As(err, &wrong) || errors.Is(err, ackbox.ErrTooLarge) {
		refused[index] = what
		return false
	}
	check(err)
	return true
}

func main() {
	alice, err := ackbox.New(os.Args[1], ackbox.Options{RetryFor: -1})
	check(err)
	bob, err := ackbox.New(os.Args[2], ackbox.Options{})
	check(err)
	var values [][]any
	check(json.NewDecoder(os.Stdin).Decode(&values))
	sent := map[string]int{}
	for _, value := range values {
		index := int(value[0].(float64))
		data, err := hex.DecodeString(value[1].(string))
		check(err)
		message := ackbox.Message{
			Peer: "bob", Type: "go", Unordered: true, Data: json.RawMessage(data), MessageID: fmt.Sprintf("go-%d", index)}
		if _, err := alice.Enqueue(ctx, message); note(index, "data", err) {
			sent[message.MessageID] = index
		}
	}
	stream := bob.Receive(ctx, ackbox.ReceiveOptions{Types: "go", Window: 256})
	defer stream.Close()
	for len(sent) > 0 {
		frame, err := stream.Next()
		check(err)
		if _, err := frame.Ack(ctx, frame.Data); !note(sent[frame.ID], "result", err) {
			_, err = frame.Reject(ctx, "its client refuses the result")
			check(err)
		}
		delete(sent, frame.ID)
	}
	check(json.NewEncoder(os.Stdout).Encode(refused))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
