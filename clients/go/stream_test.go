package ackbox

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"
)

const frameLine = `{"receipt":"r1","run":2,"event":{"id":"m4","source":"urn:agent:alice","type":"t","sessionid":"s",` +
	`"sessionorigin":"o1","sessionseq":"4","data":{"n":1e400},"ID":"other"}}` + "\n"

func streamOf(lines string) answer { return answer{status: 200, body: lines, isOpen: true} }

func settled(statuses ...string) answer {
	var results []string
	for _, status := range statuses {
		results = append(results, `{"status":"`+status+`"}`)
	}
	return answer{status: 200, body: `{"results":[` + strings.Join(results, ",") + `]}`}
}

func loneLines(count int) string {
	var lines strings.Builder
	for n := 0; n < count; n++ {
		fmt.Fprintf(&lines, `{"receipt":"r%d","run":1,"event":{"id":"m%d","source":"urn:agent:alice","type":"t"}}`+"\n", n, n)
	}
	return lines.String()
}

func next(t *testing.T, stream *Stream) *Frame {
	t.Helper()
	frame, err := stream.Next()
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestAnEventSaysWhichMessageAnOperatorSendsAgain(t *testing.T) {
	t.Parallel()
	event, err := parseEvent([]byte(`{"id":"b","source":"urn:agent:alice","resentof":"a"}`))
	if err != nil || event.ResentOf != "a" {
		t.Fatal(event, err)
	}
}

func TestAStreamThatEndsIsOpenedAgainAndHalfALineIsNoFrame(t *testing.T) {
	t.Parallel()
	server, client := serve(t, Options{}, answer{status: 200, body: "\n" + frameLine[:20]}, problem(503, "Too many streams"),
		answer{status: 504}, answer{}, streamOf("\n"+frameLine), settled("gone"))
	stream := client.Receive(ctx, ReceiveOptions{Types: "order.*", Sessions: "s", Window: 5})
	frame := next(t, stream)
	expect(t, []any{frame.ID, frame.Source, frame.Type, frame.Session, frame.Origin, frame.Sequence, frame.Run, string(frame.Data)},
		[]any{"m4", "urn:agent:alice", "t", "s", "o1", int64(4), 2, `{"n":1e400}`})
	counted, err := frame.Retry(ctx, "later \xff", 1500*time.Millisecond)
	expect(t, []any{counted, err}, []any{false, nil})
	requests := server.requests()
	expect(t, len(requests), 6)
	for _, one := range requests[:5] {
		expect(t, one.target, "/v1/inbox/stream?sessions=s&types=order.%2A&window=5")
	}
	expect(t, requests[5].body,
		`{"settlements":[{"receipt":"r1","outcome":"retry","reason":"later `+"\uFFFD"+`","after":"1500ms"}]}`)
	stream.Close()
	_, err = stream.Next()
	expect(t, err, ErrClosed)
}

func TestAStreamIsAskedForAgainAfterWhatTheDaemonSays(t *testing.T) {
	t.Parallel()
	busy := problem(503, "Too many streams")
	busy.retryAfter = "1"
	_, client := serve(t, Options{}, busy, streamOf(frameLine))
	begin := time.Now()
	next(t, client.Receive(ctx, ReceiveOptions{}))
	if time.Since(begin) < time.Second {
		t.Fatal("it was asked for at once")
	}
}

func TestARefusedStreamEndsWithTheReason(t *testing.T) {
	server, client := serve(t, Options{}, problem(403, "Refused"), problem(403, "Refused"))
	_, err := client.Receive(ctx, ReceiveOptions{}).Next()
	expect(t, err.Error(), "403 Refused: because")
	err = client.Run(ctx, ReceiveOptions{}, nil)
	if !errors.Is(err, ErrForbidden) {
		t.Fatal(err)
	}
	expect(t, len(server.requests()), 2)
}

func TestAFrameWhoseSettlementDoesNotArriveEndsItsStreamAndWhatItHeldIsNotGivenOut(t *testing.T) {
	t.Parallel()
	server, client := serve(t, Options{}, streamOf(frameLine+loneLines(1)), answer{}, answer{}, answer{}, answer{},
		streamOf(frameLine))
	stream := client.Receive(ctx, ReceiveOptions{})
	counted, err := next(t, stream).Ack(ctx, map[string]int{"a": 1})
	expect(t, []any{counted, err}, []any{false, nil})
	expect(t, next(t, stream).ID, "m4")
	server.expectRequests("GET /v1/inbox/stream", "POST /v1/inbox/settle", "POST /v1/inbox/settle", "POST /v1/inbox/settle",
		"POST /v1/inbox/settle", "GET /v1/inbox/stream")
}

func TestAFrameCanBeSettledAgainAfterAnError(t *testing.T) {
	server, client := serve(t, Options{}, streamOf(frameLine), problem(422, "Refused"), settled("settled"))
	frame := next(t, client.Receive(ctx, ReceiveOptions{}))
	if _, err := frame.Reject(ctx, ""); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := frame.Release(ended); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	counted, err := frame.Release(ctx)
	expect(t, []any{counted, err}, []any{true, nil})
	expect(t, server.requests()[2].body, `{"settlements":[{"receipt":"r1","outcome":"release"}]}`)
}

func TestManyFramesAreAcknowledgedInOneRequestAndEachIsAnswered(t *testing.T) {
	server, client := serve(t, Options{}, streamOf(loneLines(3)), problem(503, "Busy"), settled("settled", "gone", "settled"))
	stream := client.Receive(ctx, ReceiveOptions{})
	frames := []*Frame{next(t, stream), next(t, stream), next(t, stream)}
	if _, err := client.AckMany(ctx, frames, []any{nil}); err == nil || !strings.Contains(err.Error(), "3 frames and 1 results") {
		t.Fatal(err)
	}
	if _, err := client.AckMany(ctx, frames, []any{1, nil, "\xff"}); err == nil || !strings.HasPrefix(err.Error(), "results[2] is a text") {
		t.Fatal(err)
	}
	expect(t, len(server.requests()), 1)
	counted, err := client.AckMany(ctx, frames, []any{map[string]int{"a": 1}, nil, "text"})
	expect(t, err, nil)
	expect(t, counted, []bool{true, false, true})
	expect(t, server.requests()[2].body, `{"settlements":[{"receipt":"r0","outcome":"ack","result":{"a":1}},`+
		`{"receipt":"r1","outcome":"ack"},{"receipt":"r2","outcome":"ack","result":"text"}]}`)
}

func TestMoreFramesThanARequestTakesAreAcknowledgedInSeveral(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		result any
		counts []int
	}{{strings.Repeat("x", 60_000), []int{70, 30}}, {nil, []int{1024, 1}}} {
		var answers []answer
		var frames []*Frame
		var results []any
		for _, count := range one.counts {
			answers = append(answers, settled(strings.Split(strings.Repeat("settled ", count), " ")[:count]...))
			for n := 0; n < count; n++ {
				frames, results = append(frames, &Frame{lease: &lease{}}), append(results, one.result)
			}
		}
		server, client := serve(t, Options{}, answers...)
		counted, err := client.AckMany(ctx, frames, results)
		expect(t, []any{len(counted), err}, []any{len(frames), nil})
		for index, request := range server.requests() {
			expect(t, strings.Count(request.body, "receipt"), one.counts[index])
		}
	}
}

func TestALoopThatSettlesNothingIsWarnedOnce(t *testing.T) {
	var text strings.Builder
	silence := strings.Repeat("\n", 9)
	_, client := serve(t, Options{ErrorLog: log.New(&text, "", 0)}, streamOf(frameLine))
	stream := client.Receive(ctx, ReceiveOptions{})
	frame := next(t, stream)
	for range silence { // The caller works.
		stream.noteSilence(frame.lease)
	}
	expect(t, text.String(), "")
	stream.waiting.Add(1)
	for range silence {
		stream.noteSilence(frame.lease)
	}
	stream.Close()
	for _, part := range []string{"1 are not settled", "m4 of urn:agent:alice", "Ack, Retry, Reject or Release"} {
		expect(t, strings.Count(text.String(), part), 1)
	}
}

func TestAStreamEndsWithItsContextAndWithItsClient(t *testing.T) {
	server, client := serve(t, Options{}, streamOf(""), streamOf(""))
	for _, one := range []struct {
		end    func(cancel context.CancelFunc)
		wanted error
	}{{func(cancel context.CancelFunc) { cancel() }, context.Canceled}, {func(context.CancelFunc) { client.Close() }, ErrClosed}} {
		life, cancel := context.WithCancel(ctx)
		stream := client.Receive(life, ReceiveOptions{})
		<-server.more
		one.end(cancel)
		_, err := stream.Next()
		expect(t, err, one.wanted)
		cancel()
	}
}
