package ackbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	windowDefault = 64
	windowMost    = 1024
	// The daemon sends an empty line at least every 10 s.
	silenceMost = 30 * time.Second
	// Empty lines, with nothing between them, after which a frame that is not settled is worth a warning.
	silentLines = 3
)

// ReceiveOptions choose the frames of a stream. The zero value takes all.
type ReceiveOptions struct {
	// Types and Sessions are each a name, or a beginning with * behind it. Empty: all.
	Types    string
	Sessions string
	// Window is how many frames are held at a time, at most 1,024. 0: 64.
	Window int
	// Mailbox is the agent whose mailbox at the daemon is taken from. A token with the role mailbox needs no name. Empty:
	// frames for the daemon's own agent.
	Mailbox string
}

// Stream gives out inbound frames. Safe for concurrent use: several goroutines may share it.
type Stream struct {
	client *Client
	target string
	parent context.Context
	// ctx ends with parent, with the client, and by end.
	ctx    context.Context
	end    context.CancelFunc
	frames chan *Frame
	// done is closed when the stream has ended; then err says why.
	done chan struct{}
	err  error
	// waiting is the number of callers of Next.
	waiting   atomic.Int32
	silent    int
	hasWarned bool
}

// Receive opens a stream, which ends with ctx, Stream.Close and Client.Close. Close each stream.
//
// At most Window frames are held at a time; settle each. Those of a session come one after the other. While the daemon
// is away, it is asked again. What is not settled when the stream ends is given out again.
func (c *Client) Receive(ctx context.Context, options ReceiveOptions) *Stream {
	if options.Window == 0 {
		options.Window = windowDefault
	}
	query := url.Values{"window": {strconv.Itoa(options.Window)}}
	if options.Types != "" {
		query.Set("types", options.Types)
	}
	if options.Sessions != "" {
		query.Set("sessions", options.Sessions)
	}
	if options.Mailbox != "" {
		query.Set("mailbox", options.Mailbox)
	}
	stream := &Stream{
		client: c, target: "/v1/inbox/stream?" + query.Encode(), parent: ctx,
		frames: make(chan *Frame, windowMost), done: make(chan struct{}),
	}
	stream.ctx, stream.end = c.bound(ctx)
	go stream.read()
	return stream
}

// Close ends the stream. What is not settled is given out again.
func (s *Stream) Close() {
	s.end()
	<-s.done
}

// Next waits for the next frame. The error is that of the context that ended, ErrClosed, or a *ProblemError where the
// daemon refuses, as for a token without the role `receive`.
func (s *Stream) Next() (*Frame, error) { return s.next(context.Background()) }

func (s *Stream) next(ctx context.Context) (*Frame, error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		select {
		case frame := <-s.frames:
			// One whose lease has ended is given out again: its settlement would not count.
			if frame.lease.ctx.Err() == nil {
				return frame, nil
			}
		case <-s.done:
			return nil, s.err
		case <-ctx.Done():
		}
	}
}

// read opens one lease after the other.
func (s *Stream) read() {
	defer close(s.done)
	defer s.end()
	for failures := 0; ; failures++ {
		isAlive, err := s.readLease()
		if s.ctx.Err() != nil {
			if s.err = s.parent.Err(); s.err == nil {
				s.err = ErrClosed
			}
			return
		}
		if err != nil && !isPassing(err) {
			s.err = err
			return
		}
		s.client.warnIfUnreachable(err)
		if isAlive {
			failures = 0
		}
		wait(s.ctx, nextPause(failures, err))
	}
}

// lease is one open stream of the daemon: what holds its frames.
type lease struct {
	ctx   context.Context
	end   context.CancelFunc
	mutex sync.Mutex
	// held has what was given out and is not settled, oldest first.
	held []*Frame
}

func (l *lease) hold(frame *Frame) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.held = append(l.held, frame)
}

func (l *lease) drop(frame *Frame) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for index, one := range l.held {
		if one == frame {
			l.held = append(l.held[:index], l.held[index+1:]...)
			return
		}
	}
}

// readLease returns when the daemon's stream ends, for whatever reason; with an error if it does not begin.
func (s *Stream) readLease() (isAlive bool, err error) {
	lease := &lease{}
	lease.ctx, lease.end = context.WithCancel(s.ctx)
	defer lease.end()
	silence := time.AfterFunc(silenceMost, lease.end)
	defer silence.Stop()
	response, err := s.client.daemon.open(lease.ctx, "GET", s.target, nil)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return false, s.client.daemon.unreachable(err)
		}
		return false, problemError(response.StatusCode, body, response.Header.Get("Retry-After"))
	}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return isAlive, nil // Half a line is the end of a stream, and no frame.
		}
		isAlive = true
		silence.Stop() // Nothing is read while all callers are busy.
		if len(bytes.TrimSpace(line)) == 0 {
			s.noteSilence(lease)
		} else if err := s.give(line, lease); err != nil {
			return isAlive, err
		}
		silence.Reset(silenceMost)
	}
}

func (s *Stream) give(line []byte, lease *lease) error {
	s.silent = 0
	var given struct {
		Receipt string          `json:"receipt"`
		Run     int             `json:"run"`
		Event   json.RawMessage `json:"event"`
	}
	err := json.Unmarshal(line, &given)
	if err != nil {
		return fmt.Errorf("a line of the stream cannot be read: %w", err)
	}
	event, err := parseEvent(given.Event)
	if err != nil {
		return fmt.Errorf("a frame of the stream cannot be read: %w", err)
	}
	frame := &Frame{Event: *event, Run: given.Run, receipt: given.Receipt, client: s.client, lease: lease}
	lease.hold(frame)
	select {
	case s.frames <- frame:
	case <-lease.ctx.Done():
	}
	return nil
}

// noteSilence warns once: a caller waits for frames, and those that are not settled may be why none comes.
func (s *Stream) noteSilence(lease *lease) {
	if s.silent++; s.waiting.Load() == 0 {
		s.silent = 0 // The callers work.
	}
	lease.mutex.Lock()
	defer lease.mutex.Unlock()
	if s.silent < silentLines || s.hasWarned || len(lease.held) == 0 {
		return
	}
	s.hasWarned = true
	s.client.log.Printf("ackbox: no frame has come for a while, and %d are not settled, the oldest is %s of %s: the next of "+
		"their sessions come once they are settled by Ack, Retry, Reject or Release, and none at all while the window is full",
		len(lease.held), lease.held[0].ID, lease.held[0].Source)
}
