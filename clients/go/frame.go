package ackbox

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	settleTimeout = time.Minute
	settleTries   = 4
	// Of one request: what the daemon takes, and less than its 8 MiB.
	settlementsMost      = 1024
	settlementsBytesMost = 4 << 20
	// What the daemon keeps of a reason.
	reasonBytesMost = 1000
)

// Frame is an event that this application holds until it settles it, or its stream ends. Each must be settled once.
//
// Ack, Retry, Reject and Release return whether it counted, once that is durable. False: the stream had ended before, and
// the frame is given out again, so that its effect must not happen twice (Marks.Apply); or it had counted, and the answer
// was lost. No program needs to do anything about it. With an error the frame is still held, and can be settled again.
//
// Safe for concurrent use; do not copy it.
type Frame struct {
	Event
	// Run is how often the frame was given out, this time included.
	Run int

	receipt   string
	client    *Client
	lease     *lease
	isSettled atomic.Bool
}

type settlement struct {
	Receipt string          `json:"receipt"`
	Outcome string          `json:"outcome"`
	Result  json.RawMessage `json:"result,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	After   string          `json:"after,omitempty"`
}

// Ack: it is done. The sender gets result as the answer, JSON of at most 64 KiB; nil: no answer. What JSON cannot hold is
// refused by a *ValueError; Marks.Apply refuses it before the effect.
func (f *Frame) Ack(ctx context.Context, result any) (bool, error) {
	text, err := resultToJSON(result, "result")
	if err != nil {
		return false, err
	}
	return f.settle(ctx, settlement{Outcome: "ack", Result: text})
}

// Retry: not now. It comes again after that time, or, where after is 0, after the daemon's backoff. A run is charged.
func (f *Frame) Retry(ctx context.Context, reason string, after time.Duration) (bool, error) {
	one := settlement{Outcome: "retry", Reason: shortened(reason, reasonBytesMost)}
	if after > 0 {
		one.After = fmt.Sprintf("%dms", after.Milliseconds())
	}
	return f.settle(ctx, one)
}

// Reject: never. The sender gets a dead letter with this reason, which must not be empty.
func (f *Frame) Reject(ctx context.Context, reason string) (bool, error) {
	return f.settle(ctx, settlement{Outcome: "reject", Reason: shortened(reason, reasonBytesMost)})
}

// Release: it was not worked on. It is given out again at once, and nothing is charged.
func (f *Frame) Release(ctx context.Context) (bool, error) {
	return f.settle(ctx, settlement{Outcome: "release"})
}

func (f *Frame) settle(ctx context.Context, one settlement) (bool, error) {
	one.Receipt = f.receipt
	text, err := toJSON(one, "settlement", dataDepthMost)
	if err != nil {
		return false, err
	}
	counted, err := f.client.settle(ctx, [][]byte{text})
	if err != nil {
		return false, err
	}
	f.ended(counted == nil)
	return counted != nil && counted[0], nil
}

// ended: the frame was settled, or its settlement does not arrive; then its stream must not go on holding it.
func (f *Frame) ended(isLost bool) {
	f.isSettled.Store(true)
	f.lease.drop(f)
	if isLost {
		f.lease.end()
	}
}

// AckMany acknowledges frames of this client's streams in one request, or one for each 1,024 of them and 4 MiB of
// results. results has the result of each, or nil; a nil slice: no frame has one. It returns what Frame.Ack returns, of
// each in order.
//
// The error is a *ValueError, and none is settled, where JSON cannot hold a result. With another error the answers that
// are returned count, and the frames behind them are still held.
func (c *Client) AckMany(ctx context.Context, frames []*Frame, results []any) ([]bool, error) {
	if results != nil && len(results) != len(frames) {
		return nil, fmt.Errorf("there are %d frames and %d results: give one for each frame", len(frames), len(results))
	}
	texts := make([][]byte, len(frames))
	for index, frame := range frames {
		one := settlement{Receipt: frame.receipt, Outcome: "ack"}
		var err error
		if results != nil {
			if one.Result, err = resultToJSON(results[index], fmt.Sprintf("results[%d]", index)); err != nil {
				return nil, err
			}
		}
		if texts[index], err = toJSON(one, "settlement", dataDepthMost); err != nil {
			return nil, err
		}
	}
	counted := make([]bool, 0, len(frames))
	for len(counted) < len(frames) {
		begin, end, size := len(counted), len(counted), 0
		for end < len(frames) && end-begin < settlementsMost && size < settlementsBytesMost {
			size += len(texts[end])
			end++
		}
		some, err := c.settle(ctx, texts[begin:end])
		if err != nil {
			return counted, err
		}
		for _, frame := range frames[begin:end] {
			frame.ended(some == nil)
		}
		if some == nil {
			some = make([]bool, end-begin)
		}
		counted = append(counted, some...)
	}
	return counted, nil
}

// settle returns whether each counted; nil: they do not arrive.
func (c *Client) settle(ctx context.Context, settlements [][]byte) ([]bool, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	body := []byte(`{"settlements":[`)
	for index, one := range settlements {
		if index > 0 {
			body = append(body, ',')
		}
		body = append(body, one...)
	}
	body = append(body, "]}"...)
	for failures := 1; ; failures++ {
		answer, err := c.daemon.ask(ctx, "POST", "/v1/inbox/settle", body, settleTimeout)
		if err == nil {
			return countedOf(answer, len(settlements))
		}
		if ended := c.endOf(ctx, err); ended != nil {
			return nil, ended
		}
		if !isPassing(err) {
			return nil, err
		}
		c.warnIfUnreachable(err)
		if failures == settleTries {
			return nil, nil
		}
		wait(ctx, nextPause(failures, err))
	}
}

func countedOf(answer []byte, count int) ([]bool, error) {
	var settled struct{ Results []struct{ Status string } }
	if err := json.Unmarshal(answer, &settled); err != nil {
		return nil, fmt.Errorf("the answer to a settlement cannot be read: %w", err)
	}
	if len(settled.Results) != count {
		return nil, fmt.Errorf("the answer to %d settlements has %d results", count, len(settled.Results))
	}
	counted := make([]bool, count)
	for index, one := range settled.Results {
		counted[index] = one.Status == "settled"
	}
	return counted, nil
}
