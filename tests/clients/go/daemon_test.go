package tests

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"ackbox"
)

// Against two daemons that go_daemon_test.py starts; ALICE and BOB are their addresses.

var ctx = context.Background()

func clients(t *testing.T) (alice, bob *ackbox.Client) {
	t.Helper()
	made := []*ackbox.Client{}
	for _, name := range []string{"ALICE", "BOB"} {
		address := os.Getenv(name)
		if address == "" {
			t.Skip("left out: go_daemon_test.py runs it with two daemons")
		}
		client, err := ackbox.New(address, ackbox.Options{})
		check(t, err)
		t.Cleanup(client.Close)
		made = append(made, client)
	}
	return made[0], made[1]
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func enqueue(t *testing.T, client *ackbox.Client, message ackbox.Message) ackbox.Enqueued {
	t.Helper()
	sent, err := client.Enqueue(ctx, message)
	check(t, err)
	return sent
}

func expectState(t *testing.T, client *ackbox.Client, id, state string) ackbox.ShownMessage {
	t.Helper()
	shown, err := client.Message(ctx, id, time.Minute)
	if err != nil || shown.State != state {
		t.Fatalf("%s instead of %s: %v", shown.Raw, state, err)
	}
	return shown
}

func receive(t *testing.T, client *ackbox.Client, types string) *ackbox.Stream {
	t.Helper()
	stream := client.Receive(ctx, ackbox.ReceiveOptions{Types: types})
	t.Cleanup(stream.Close)
	return stream
}

func next(t *testing.T, stream *ackbox.Stream) *ackbox.Frame {
	t.Helper()
	frame, err := stream.Next()
	check(t, err)
	return frame
}

func TestDaemonEachWayToSettleDoesWhatItSays(t *testing.T) {
	alice, bob := clients(t)
	var sent []ackbox.Enqueued
	for n := 1; n <= 4; n++ {
		one := enqueue(t, alice, ackbox.Message{Peer: "bob", Type: "settle", Data: n, Session: "s"})
		if one.Sequence != int64(n) {
			t.Fatal(one)
		}
		sent = append(sent, one)
	}
	stream := receive(t, bob, "settle")
	for index, step := range []struct {
		sequence int64
		settle   func(*ackbox.Frame) (bool, error)
	}{
		{1, func(frame *ackbox.Frame) (bool, error) { return frame.Ack(ctx, map[string]bool{"ok": true}) }},
		{2, func(frame *ackbox.Frame) (bool, error) {
			return frame.Retry(ctx, strings.Repeat("später ", 10_000), 10*time.Millisecond)
		}},
		{2, func(frame *ackbox.Frame) (bool, error) { return frame.Release(ctx) }},
		{2, func(frame *ackbox.Frame) (bool, error) { return frame.Ack(ctx, nil) }},
		{3, func(frame *ackbox.Frame) (bool, error) { return frame.Reject(ctx, "no-such-item") }},
		{4, func(frame *ackbox.Frame) (bool, error) { return frame.Ack(ctx, nil) }},
	} {
		frame := next(t, stream)
		counted, err := step.settle(frame)
		if frame.Sequence != step.sequence || !counted || err != nil {
			t.Fatal(index, frame.Sequence, counted, err)
		}
		if counted, err := frame.Ack(ctx, nil); counted || err != nil {
			t.Fatal("it counted twice:", index, err)
		}
	}
	for index, state := range []string{"acked", "acked", "failed", "acked"} {
		shown := expectState(t, alice, sent[index].ID, state)
		if state == "failed" && !strings.Contains(shown.LastError+shown.Reason, "no-such-item") {
			t.Fatalf("%s", shown.Raw)
		}
	}
}

func TestDaemonManyFramesAreAcknowledgedAtOnceAndASecondTimeNoneIs(t *testing.T) {
	alice, bob := clients(t)
	sent, err := alice.EnqueueMany(ctx, []ackbox.Message{
		{Peer: "bob", Type: "many", Unordered: true}, {Peer: "bob", Type: "many", Unordered: true}, {Peer: "nobody", Type: "many"}})
	check(t, err)
	if !sent[0].IsAccepted() || sent[2].Status != "unknownPeer" {
		t.Fatal(sent)
	}
	stream := receive(t, bob, "many")
	frames := []*ackbox.Frame{next(t, stream), next(t, stream)}
	for _, wanted := range []bool{true, false} {
		counted, err := bob.AckMany(ctx, frames, nil)
		if err != nil || len(counted) != 2 || counted[0] != wanted || counted[1] != wanted {
			t.Fatal(counted, err)
		}
	}
	expectState(t, alice, sent[1].ID, "acked")
}

func TestDaemonAStreamThatIsClosedGivesItsFrameBack(t *testing.T) {
	alice, bob := clients(t)
	enqueue(t, alice, ackbox.Message{Peer: "bob", Type: "left", Unordered: true})
	stream := receive(t, bob, "left")
	first := next(t, stream)
	stream.Close()
	if counted, err := first.Ack(ctx, nil); counted || err != nil {
		t.Fatal(counted, err)
	}
	again := next(t, receive(t, bob, "left"))
	if counted, err := again.Ack(ctx, nil); !counted || err != nil || again.ID != first.ID || again.Run != 2 || again.Sequence != 0 {
		t.Fatal(counted, err, again.Event)
	}
}

func TestDaemonTheSenderGetsWhatTheHandlerReturns(t *testing.T) {
	alice, bob := clients(t)
	life, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		ended <- bob.RunByType(life, ackbox.ReceiveOptions{Types: "answer"}, map[string]ackbox.Handler{
			"answer": func(_ context.Context, frame *ackbox.Frame) (any, error) { return frame.Data, nil }})
	}()
	var result string
	// A result that comes before the wait begins is missed.
	for try := 0; result == "" && try < 50; try++ {
		sent := enqueue(t, alice, ackbox.Message{Peer: "bob", Type: "answer", Unordered: true, Data: map[string]string{"a": "<ä>"}})
		result = string(expectState(t, alice, sent.ID, "acked").Result)
	}
	stop()
	if err := <-ended; err != nil || result != `{"a":"<ä>"}` {
		t.Fatal(err, result)
	}
}

func TestDaemonRefusalsHaveTheTextOfTheDaemon(t *testing.T) {
	alice, _ := clients(t)
	_, err := alice.Enqueue(ctx, ackbox.Message{Peer: "nobody", Type: "t"})
	if !errors.Is(err, ackbox.ErrInvalid) || !strings.Contains(err.Error(), "no peer has this name") {
		t.Fatal(err)
	}
	message := ackbox.Message{Peer: "bob", Type: "unwanted", Unordered: true, Data: 1, IdempotencyKey: "k", NotBefore: time.Now().Add(time.Hour)}
	first := enqueue(t, alice, message)
	if again := enqueue(t, alice, message); again.Status != "duplicate" || again.ID != first.ID {
		t.Fatal(again)
	}
	message.Data = 2
	if _, err := alice.Enqueue(ctx, message); !errors.Is(err, ackbox.ErrConflict) {
		t.Fatal(err)
	}
	if _, err := alice.Message(ctx, "un/known", 0); !errors.Is(err, ackbox.ErrNotFound) {
		t.Fatal(err)
	}
	stats, err := alice.Stats(ctx)
	if err != nil || stats["enqueued_total"] == nil {
		t.Fatal(stats, err)
	}
}

func TestDaemonAMessageWithoutASessionGoesToTheSessionDefault(t *testing.T) {
	alice, bob := clients(t)
	sent := enqueue(t, alice, ackbox.Message{Peer: "bob", Type: "default"})
	frame := next(t, receive(t, bob, "default"))
	if frame.Session != "default" || frame.Sequence != sent.Sequence || sent.Sequence == 0 {
		t.Fatal(frame.Event, sent)
	}
	_, err := frame.Ack(ctx, nil)
	check(t, err)
}

func TestDaemonAnExpiryThatHasPassedIsStored(t *testing.T) {
	alice, _ := clients(t)
	sent := enqueue(t, alice, ackbox.Message{Peer: "bob", Type: "late", Unordered: true, ExpiresAt: time.Now()})
	if shown := expectState(t, alice, sent.ID, "failed"); shown.Reason != "expired" {
		t.Fatalf("%s", shown.Raw)
	}
}

func TestDaemonAPushedRequestIsVerifiedAndAnswered(t *testing.T) {
	alice, _ := clients(t)
	secret, err := os.ReadFile(os.Getenv("SECRET_FILE"))
	check(t, err)
	listener, err := net.Listen("tcp", os.Getenv("PUSHED_TO"))
	check(t, err)
	events := make(chan *ackbox.Event, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		event, err := ackbox.VerifyWebhook([]string{string(secret)}, request.Header, body, ackbox.WebhookOptions{})
		if err != nil {
			http.Error(writer, err.Error(), http.StatusUnauthorized)
			return
		}
		events <- event
	})}
	go server.Serve(listener)
	defer server.Close()
	sent := enqueue(t, alice, ackbox.Message{Peer: "bob", Type: "push", Data: "ä\n", Session: "p"})
	expectState(t, alice, sent.ID, "acked")
	if event := <-events; string(event.Data) != `"ä\n"` || event.Sequence != 1 || event.Session != "p" {
		t.Fatal(event)
	}
}

func TestRestartAnEnqueueWaitsForADaemonThatIsStartedAgain(t *testing.T) {
	alice, _ := clients(t)
	if sent := enqueue(t, alice, ackbox.Message{Peer: "bob", Type: "unwanted", Session: "restart"}); sent.Sequence != 1 {
		t.Fatal(sent)
	}
}
