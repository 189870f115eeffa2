package ackbox

import (
	"context"
	"errors"
	"log"
	"strings"
	"testing"
)

const endLine = `{"receipt":"r9","run":1,"event":{"id":"m9","source":"urn:agent:alice","type":"end"}}` + "\n"

// stopping ends the context when the frame of endLine comes.
func stopping(stop context.CancelFunc) Handler {
	return func(context.Context, *Frame) (any, error) {
		stop()
		return nil, nil
	}
}

// runOne runs until endLine, and expects this settlement of the frame before it.
func runOne(t *testing.T, text *strings.Builder, wanted string, work func(*Client, context.Context, Handler) error) {
	t.Helper()
	server, client := serve(t, Options{ErrorLog: log.New(text, "", 0)}, streamOf(frameLine+endLine), settled("settled"),
		settled("settled"))
	life, cancel := context.WithCancel(ctx)
	expect(t, work(client, life, stopping(cancel)), nil)
	expect(t, server.requests()[1].body, `{"settlements":[{"receipt":"r1",`+wanted+`}]}`)
	server.expectRequests("GET /v1/inbox/stream", "POST /v1/inbox/settle", "POST /v1/inbox/settle")
}

func TestRunSettlesByWhatTheHandlerReturns(t *testing.T) {
	cases := map[string]Handler{
		`"outcome":"ack","result":{"n":7}`: func(ctx context.Context, frame *Frame) (any, error) {
			return map[string]int{"n": 7}, nil
		},
		`"outcome":"ack"`: func(ctx context.Context, frame *Frame) (any, error) { return nil, nil },
		`"outcome":"retry","reason":"no such item"`: func(ctx context.Context, frame *Frame) (any, error) {
			return nil, errors.New("no such item")
		},
		`"outcome":"retry","reason":"result.price is NaN, which JSON cannot hold: send nil or a text"`: func(
			ctx context.Context, frame *Frame) (any, error) {
			return map[string]float64{"price": nan()}, nil
		},
		`"outcome":"reject","reason":"never"`: func(ctx context.Context, frame *Frame) (any, error) {
			_, err := frame.Reject(ctx, "never")
			return "not sent", err
		},
	}
	for wanted, handler := range cases {
		var text strings.Builder
		runOne(t, &text, wanted, func(client *Client, ctx context.Context, end Handler) error {
			return client.Run(ctx, ReceiveOptions{}, func(ctx context.Context, frame *Frame) (any, error) {
				if frame.Type == "end" {
					return end(ctx, frame)
				}
				return handler(ctx, frame)
			})
		})
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func TestWhatIsWorkedOnWhenTheProgramIsStoppedIsSettledOnTheOpenStream(t *testing.T) {
	for outcome, failure := range map[string]error{"ack": nil, "release": errors.New("stopped")} {
		server, client := serve(t, Options{}, streamOf(frameLine+loneLines(1)), settled("settled"))
		life, cancel := context.WithCancel(ctx)
		err := client.Run(life, ReceiveOptions{}, func(ctx context.Context, frame *Frame) (any, error) {
			cancel()
			<-ctx.Done()
			expect(t, frame.lease.ctx.Err(), nil)
			return nil, failure
		})
		expect(t, err, nil)
		expect(t, len(server.requests()), 2)
		expect(t, server.requests()[1].body, `{"settlements":[{"receipt":"r1","outcome":"`+outcome+`"}]}`)
	}
}

func TestAFrameThatCannotBeSettledEndsItsStreamAndIsWarnedOf(t *testing.T) {
	var text strings.Builder
	server, client := serve(t, Options{ErrorLog: log.New(&text, "", 0)},
		streamOf(frameLine), problem(409, "No"), streamOf(frameLine), settled("settled"))
	life, cancel := context.WithCancel(ctx)
	count := 0
	err := client.Run(life, ReceiveOptions{}, func(ctx context.Context, frame *Frame) (any, error) {
		if count++; count == 2 {
			cancel()
			return nil, nil
		}
		return nil, errors.New("the cause")
	})
	expect(t, err, nil)
	server.expectRequests("GET /v1/inbox/stream", "POST /v1/inbox/settle", "GET /v1/inbox/stream", "POST /v1/inbox/settle")
	for _, part := range []string{"frame m4 of urn:agent:alice was not settled: 409 No", "frame m4 (t) of urn:agent:alice: the cause"} {
		expect(t, strings.Count(text.String(), part), 1)
	}
}

func TestAPanicOfTheHandlerIsTheReasonOfARetryAndGoesOn(t *testing.T) {
	server, client := serve(t, Options{}, streamOf(frameLine), settled("settled"))
	defer func() {
		expect(t, recover(), "bug")
		expect(t, server.requests()[1].body, `{"settlements":[{"receipt":"r1","outcome":"retry","reason":"panic: bug"}]}`)
	}()
	client.Run(ctx, ReceiveOptions{}, func(context.Context, *Frame) (any, error) { panic("bug") })
}

func TestATypeWithoutAHandlerIsRetriedWithAReasonAndWarnedOfOnce(t *testing.T) {
	var text strings.Builder
	server, client := serve(t, Options{ErrorLog: log.New(&text, "", 0)}, streamOf(frameLine+frameLine+endLine),
		settled("settled"), settled("settled"), settled("settled"))
	life, cancel := context.WithCancel(ctx)
	err := client.RunByType(life, ReceiveOptions{}, map[string]Handler{"end": stopping(cancel)})
	expect(t, err, nil)
	expect(t, len(server.requests()), 4)
	for _, request := range server.requests()[1:3] {
		expect(t, request.body, `{"settlements":[{"receipt":"r1","outcome":"retry","reason":"no handler for type \"t\""}]}`)
	}
	expect(t, strings.Count(text.String(), `no handler for type "t"`), 1)
	for _, handlers := range []map[string]Handler{nil, {"t": nil}, {"order.*": stopping(cancel)}} {
		if err := client.RunByType(ctx, ReceiveOptions{}, handlers); err == nil {
			t.Fatal("these handlers were taken:", handlers)
		}
	}
}

func TestATypeHasItsHandlerOrTheDefaultOne(t *testing.T) {
	named := func(name string) Handler {
		return func(context.Context, *Frame) (any, error) { return name, nil }
	}
	for wanted, handlers := range map[string]map[string]Handler{
		"own": {"t": named("own"), "*": named("default")}, "default": {"u": named("own"), "*": named("default")}} {
		var text strings.Builder
		runOne(t, &text, `"outcome":"ack","result":"`+wanted+`"`, func(client *Client, ctx context.Context, end Handler) error {
			handlers["end"] = end
			return client.RunByType(ctx, ReceiveOptions{}, handlers)
		})
		expect(t, text.String(), "")
	}
}
