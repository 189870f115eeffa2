// Package ackbox is the client of `ackbox serve`: a durable outbox beside the program, and the messages that it
// receives, over HTTP. It needs the standard library only.
//
// Each type is safe for concurrent use unless it says otherwise. The package has no state of its own.
package ackbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"time"
)

const (
	retryForDefault = time.Minute
	timeoutDefault  = 30 * time.Second
	waitMost        = 30 * time.Second
)

// Options are those of New. The zero value has the defaults.
type Options struct {
	// Token is for a daemon with tokens_file.
	Token string
	// TokenFile is read once by New, if there is no Token: its first line is the token, or the line of a tokens_file of the
	// daemon, such as the one that `ackbox init` makes.
	TokenFile string
	// RetryFor is how long an operation is tried again while the daemon is away, its file is busy, its queue or its disk
	// is full. 0: a minute; negative: it is tried once.
	RetryFor time.Duration
	// Timeout is that of one request. 0: 30 seconds.
	Timeout time.Duration
	// TLS is that of https. nil: the system's authorities.
	TLS *tls.Config
	// ErrorLog gets warnings, such as one of the first request that gets no answer. nil: the standard logger of package log.
	ErrorLog *log.Logger
}

// Client is a daemon at a URL. Safe for concurrent use.
type Client struct {
	daemon   *daemon
	retryFor time.Duration
	timeout  time.Duration
	log      *log.Logger
	// closed ends with Close.
	closed context.Context
	close  context.CancelFunc
}

// New makes a client of the daemon at address: unix:/run/agent/ackbox.sock, http://127.0.0.1:7070 or https://…. It does
// not connect. The error says what is wrong with the address, the token or its file.
func New(address string, options Options) (*Client, error) {
	token := options.Token
	if token == "" && options.TokenFile != "" {
		var err error
		if token, err = readToken(options.TokenFile); err != nil {
			return nil, fmt.Errorf("the token: %w", err)
		}
	}
	daemon, err := newDaemon(address, token, options.TLS)
	if err != nil {
		return nil, err
	}
	client := &Client{daemon: daemon, retryFor: options.RetryFor, timeout: options.Timeout, log: options.ErrorLog}
	if client.retryFor == 0 {
		client.retryFor = retryForDefault
	}
	if client.timeout <= 0 {
		client.timeout = timeoutDefault
	}
	if client.log == nil {
		client.log = log.Default()
	}
	client.closed, client.close = context.WithCancel(context.Background())
	return client, nil
}

// Close ends each stream and each call, which return ErrClosed. Frames that are not settled are given out again.
func (c *Client) Close() {
	c.close()
	c.daemon.http.CloseIdleConnections()
}

// Enqueue stores a message; it is durable when this returns.
//
// The error is a *ProblemError if the daemon refused the message, and ErrUnreachable if it did not answer for RetryFor;
// then, and where ctx ended, the message may be stored. It is a *ValueError, and nothing is sent, where JSON cannot hold
// the data.
func (c *Client) Enqueue(ctx context.Context, message Message) (Enqueued, error) {
	body, err := message.toJSON("")
	if err != nil {
		return Enqueued{}, err
	}
	var stored Enqueued
	err = c.askJSON(ctx, "POST", "/v1/messages", body, &stored)
	return stored, err
}

// EnqueueMany stores up to 10,000 messages (and 8 MiB) in one request. It returns what became of each, in order; some may
// be refused while others are stored. The path of a *ValueError is such as messages[7].data.
func (c *Client) EnqueueMany(ctx context.Context, messages []Message) ([]Enqueued, error) {
	texts := make([][]byte, len(messages))
	for index, message := range messages {
		var err error
		if texts[index], err = message.toJSON(fmt.Sprintf("messages[%d].", index)); err != nil {
			return nil, err
		}
	}
	body := append(append([]byte{'['}, bytes.Join(texts, []byte{','})...), ']')
	var answer struct{ Results []Enqueued }
	err := c.askJSON(ctx, "POST", "/v1/messages", body, &answer)
	return answer.Results, err
}

// Message says where a message stands. With a wait, it returns when the message is acknowledged (State is "acked") or
// a dead letter ("failed", Reason), or after that time. The error is ErrNotFound where there is no such message, and as
// Enqueue's.
func (c *Client) Message(ctx context.Context, id string, wait time.Duration) (ShownMessage, error) {
	path := "/v1/messages/" + url.PathEscape(id)
	end := time.Now().Add(wait)
	target := func() string {
		if wait <= 0 {
			return path
		}
		// What is tried again, as where too many wait, waits for what is left.
		return fmt.Sprintf("%s?wait=%dms", path, within(time.Until(end), waitMost).Milliseconds())
	}
	for {
		body, err := c.ask(ctx, "GET", target, nil, c.timeout+within(wait, waitMost))
		if err != nil {
			return ShownMessage{}, err
		}
		shown := ShownMessage{Raw: body}
		if err := json.Unmarshal(body, &shown); err != nil {
			return ShownMessage{}, err
		}
		if shown.State == "acked" || shown.State == "failed" || shown.State == "gone" || !time.Now().Before(end) {
			return shown, nil
		}
	}
}

// Stats returns gauges and totals by name, as GET /v1/stats has them; numbers are json.Number.
func (c *Client) Stats(ctx context.Context) (map[string]any, error) {
	body, err := c.ask(ctx, "GET", func() string { return "/v1/stats" }, nil, c.timeout)
	if err != nil {
		return nil, err
	}
	var stats map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err = decoder.Decode(&stats)
	return stats, err
}

func (c *Client) askJSON(ctx context.Context, method, target string, body []byte, answer any) error {
	text, err := c.ask(ctx, method, func() string { return target }, body, c.timeout)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// ask repeats a request that may be repeated while that may help. target is made for each try.
func (c *Client) ask(
	ctx context.Context, method string, target func() string, body []byte, timeout time.Duration,
) ([]byte, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	end := time.Now().Add(c.retryFor)
	for failures := 0; ; failures++ {
		answer, err := c.daemon.ask(ctx, method, target(), body, timeout)
		if err == nil {
			return answer, nil
		}
		if ended := c.endOf(ctx, err); ended != nil {
			return nil, ended
		}
		pause := nextPause(failures, err)
		if !isPassing(err) || time.Now().Add(pause).After(end) {
			return nil, err
		}
		c.warnIfUnreachable(err)
		wait(ctx, pause)
		if ended := c.endOf(ctx, err); ended != nil {
			return nil, ended
		}
	}
}

// bound is ctx, which ends with the client, too.
func (c *Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	bound, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-c.closed.Done():
			cancel()
		case <-bound.Done():
		}
	}()
	return bound, cancel
}

// endOf is why a bound context ended, with the last failure; nil: it has not.
func (c *Client) endOf(ctx context.Context, last error) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case c.closed.Err() != nil:
		return ErrClosed
	}
	return fmt.Errorf("%w, while %s was asked: %v", ctx.Err(), c.daemon.url, last)
}

// warnIfUnreachable warns of the first failure since an answer came. It is called where the request is tried again.
func (c *Client) warnIfUnreachable(err error) {
	if errors.Is(err, ErrUnreachable) && !c.daemon.isAway.Swap(true) {
		c.log.Printf("ackbox: %v; it is tried again, and the next failures are not logged", err)
	}
}

func within(wait, most time.Duration) time.Duration {
	switch {
	case wait < 0:
		return 0
	case wait > most:
		return most
	}
	return wait
}
