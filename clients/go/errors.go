package ackbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What errors.Is finds in an error of this package, one for each thing that a program may want to do about it. Those of
// a status are in a *ProblemError, which has the text of the daemon.
var (
	// ErrUnreachable: the daemon did not answer. Whether it did what it was asked for is not known.
	ErrUnreachable = errors.New("the daemon does not answer")
	// ErrClosed: the client or the stream was closed.
	ErrClosed = errors.New("the client was closed")
	// ErrSignatureInvalid: a pushed request that is not signed with one of the keys, or too old. Answer it with 401.
	ErrSignatureInvalid = errors.New("the signature is not valid")

	// ErrUnauthenticated: 401, no token, or one that the daemon does not know.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrForbidden: 403, the token does not have the role that the operation needs.
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound: 404, no such message; or it was acknowledged and is not kept any more.
	ErrNotFound = errors.New("not found")
	// ErrConflict: 409, the idempotency key or id was used with another peer, session, type or data.
	ErrConflict = errors.New("conflict")
	// ErrTooLarge: 413.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: 422, a field is wrong, or no peer has this name.
	ErrInvalid = errors.New("invalid")
	// ErrQueueFull: 429, outbox.max_pending or max_pending_bytes is reached.
	ErrQueueFull = errors.New("queue full")
	// ErrUnavailable: 503, the file is busy, or the daemon is being stopped.
	ErrUnavailable = errors.New("unavailable")
	// ErrDiskFull: 507.
	ErrDiskFull = errors.New("disk full")
)

// ProblemError is a refusal by the daemon. Its text is that of the problem document (RFC 9457).
type ProblemError struct {
	Status int
	Title  string
	Detail string
	// RetryAfter is 0 unless the daemon gave a time.
	RetryAfter time.Duration
	// Problem is the whole document; nil: the answer is not one, and Detail is its beginning.
	Problem json.RawMessage
}

func (e *ProblemError) Error() string {
	text := strconv.Itoa(e.Status)
	switch {
	case e.Title != "" && e.Detail != "":
		text += " " + e.Title + ": " + e.Detail
	case e.Title+e.Detail != "":
		text += " " + e.Title + e.Detail
	}
	return text
}

// Is makes errors.Is(err, ErrConflict) and the like true by the status.
func (e *ProblemError) Is(target error) bool {
	kind := errorOfStatus(e.Status)
	return kind != nil && kind == target
}

func errorOfStatus(status int) error {
	switch status {
	case http.StatusUnauthorized:
		return ErrUnauthenticated
	case http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrConflict
	case http.StatusRequestEntityTooLarge:
		return ErrTooLarge
	case http.StatusUnprocessableEntity:
		return ErrInvalid
	case http.StatusTooManyRequests:
		return ErrQueueFull
	case http.StatusServiceUnavailable:
		return ErrUnavailable
	case http.StatusInsufficientStorage:
		return ErrDiskFull
	}
	return nil
}

// ValueError is a value that JSON or the daemon cannot hold. Nothing was sent, settled or committed.
type ValueError struct {
	// Path is where the value is, such as data.items[3].price.
	Path    string
	Problem string
}

func (e *ValueError) Error() string { return e.Path + " " + e.Problem }

const (
	detailBytesMost = 200
	retryAfterMost  = time.Hour
)

// problemError is the error of an answer that is not a success.
func problemError(status int, body []byte, retryAfter string) *ProblemError {
	problem := &ProblemError{Status: status}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil && members != nil {
		problem.Problem = body
		problem.Title, problem.Detail = textOf(members["title"]), textOf(members["detail"])
	} else {
		// Not of the daemon, such as a proxy's page.
		problem.Detail = shortened(string(body), detailBytesMost)
	}
	if seconds, err := strconv.ParseUint(retryAfter, 10, 20); err == nil {
		problem.RetryAfter = time.Duration(seconds) * time.Second
	}
	return problem
}

// isPassing reports whether the same request may succeed later. 502 and 504: a proxy's daemon is away.
func isPassing(err error) bool {
	var problem *ProblemError
	if errors.As(err, &problem) {
		switch problem.Status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage,
			http.StatusBadGateway, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	return errors.Is(err, ErrUnreachable)
}

// wishedPause is the time for which the daemon asks to be left alone, within an hour.
func wishedPause(err error) time.Duration {
	var problem *ProblemError
	if !errors.As(err, &problem) {
		return 0
	}
	if problem.RetryAfter > retryAfterMost {
		return retryAfterMost
	}
	return problem.RetryAfter
}

// textOf is empty where raw is not a text.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// shortened is text in valid UTF-8, of at most so many bytes.
func shortened(text string, bytesMost int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= bytesMost {
		return text
	}
	for !utf8.RuneStart(text[bytesMost]) {
		bytesMost--
	}
	return text[:bytesMost]
}

func signatureInvalid(reason string) error {
	return fmt.Errorf("%w: %s", ErrSignatureInvalid, reason)
}
