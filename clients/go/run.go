package ackbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// How long a settlement may take when the program is being stopped.
const stopMost = 10 * time.Second

const warnedTypesMost = 1000

// Handler works on a frame. A nil error acknowledges the frame with the result, which the sender gets; an error is the
// reason of a retry. A handler may also settle the frame itself, as by Frame.Reject; then what it returns settles nothing.
type Handler func(ctx context.Context, frame *Frame) (result any, err error)

// Run calls handler for each inbound frame, one after the other, until ctx ends; then it returns nil. Several Runs share
// the frames.
//
// When ctx ends, which the handler sees, the stream stays open until the handler returns, and its frame is settled: by an
// acknowledgement, or, after an error, by a release, which charges nothing. Other frames are given out again.
//
// Errors of the handler are in the log here and at the daemon. A panic of it is the reason of a retry, and goes on. The
// error of Run is a *ProblemError where the daemon refuses the stream, or ErrClosed.
func (c *Client) Run(ctx context.Context, options ReceiveOptions, handler Handler) error {
	// Not of ctx: the open stream holds the frame that is worked on.
	stream := c.Receive(context.Background(), options)
	defer stream.Close()
	for {
		frame, err := stream.next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := frame.Attempt(ctx, handler); err != nil && ctx.Err() == nil {
			c.log.Printf("ackbox: frame %s (%s) of %s: %v", frame.ID, frame.Type, frame.Source, err)
		}
	}
}

// RunByType is as Run, with a handler for each type. The one of "*" gets the frames of all other types; without it these
// are retried with a reason, and a warning names each such type once.
func (c *Client) RunByType(ctx context.Context, options ReceiveOptions, handlers map[string]Handler) error {
	if len(handlers) == 0 {
		return errors.New("there are no handlers: give one for each type, or for \"*\"")
	}
	for name, handler := range handlers {
		if handler == nil {
			return fmt.Errorf("the handler of type %q is nil", name)
		}
		if name != "*" && strings.HasSuffix(name, "*") {
			return fmt.Errorf("there is a handler of %q, but types are exact: use \"*\" for all others, and frame.Type", name)
		}
	}
	warned := map[string]bool{} // Of this goroutine.
	return c.Run(ctx, options, func(ctx context.Context, frame *Frame) (any, error) {
		handler := handlers[frame.Type]
		if handler == nil {
			handler = handlers["*"]
		}
		if handler != nil {
			return handler(ctx, frame)
		}
		reason := `no handler for type "` + frame.Type + `"`
		// Types are of the senders' choice: no more of them are remembered.
		if !warned[frame.Type] && len(warned) < warnedTypesMost {
			warned[frame.Type] = true
			c.log.Printf("ackbox: %s: its frames are retried until their sender gives them up; add one, or one for \"*\"", reason)
		}
		_, err := frame.Retry(ctx, reason, 0)
		return nil, err
	})
}

// Attempt calls handler, and settles the frame as Run does. The handler's error is passed on, or that of the
// acknowledgement. A frame that cannot be settled ends its stream, so that it is given out again.
func (f *Frame) Attempt(ctx context.Context, handler Handler) error {
	defer func() {
		if cause := recover(); cause != nil {
			f.giveBack(ctx, fmt.Errorf("panic: %v", cause))
			panic(cause)
		}
	}()
	result, err := handler(ctx, f)
	if err == nil && !f.isSettled.Load() {
		longer, cancel := outlasting(ctx)
		_, err = f.Ack(longer, result)
		cancel()
	}
	if err != nil {
		f.giveBack(ctx, err)
	}
	return err
}

func (f *Frame) giveBack(ctx context.Context, cause error) {
	if f.isSettled.Load() {
		return
	}
	longer, cancel := outlasting(ctx)
	defer cancel()
	var err error
	if ctx.Err() != nil {
		_, err = f.Release(longer)
	} else {
		_, err = f.Retry(longer, cause.Error(), 0)
	}
	if err != nil {
		f.lease.end()
		if !errors.Is(err, ErrClosed) {
			f.client.log.Printf("ackbox: frame %s of %s was not settled: %v", f.ID, f.Source, err)
		}
	}
}

// outlasting ends a while after ctx: the effect has happened, and its settlement shall arrive.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-ctx.Done():
			wait(longer, stopMost)
			cancel()
		case <-longer.Done():
		}
	}()
	return longer, cancel
}
