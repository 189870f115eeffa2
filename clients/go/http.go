package ackbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	pauseFirst = 50 * time.Millisecond
	pauseMost  = 5 * time.Second
	idleMost   = 16
)

var errNoAnswerInTime = errors.New("no answer in time")

// daemon makes requests. Safe for concurrent use.
type daemon struct {
	url   string // as the caller wrote it
	base  string
	token string
	http  *http.Client
	// isAway: it has not answered since the last warning.
	isAway atomic.Bool
}

func newDaemon(address, token string, config *tls.Config) (*daemon, error) {
	wrong := errors.New("the URL must be unix:/PATH, http://… or https://…, without a user")
	transport := &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: idleMost, IdleConnTimeout: time.Minute}
	made := &daemon{url: address, base: strings.TrimRight(address, "/"), token: token}
	if path := strings.TrimPrefix(address, "unix:"); path != address {
		if path == "" {
			return nil, wrong
		}
		made.base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
	} else if parsed, err := url.Parse(address); err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" ||
		parsed.Hostname() == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, wrong
	}
	if strings.IndexFunc(token, func(one rune) bool { return one <= ' ' || one > '~' }) >= 0 {
		return nil, errors.New("the token must be ASCII without spaces: it is sent in the head of a request")
	}
	made.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return made, nil
}

// readToken takes the last word of the first line that is not a comment: the file has the token alone, or is a
// tokens_file of the daemon (NAME ROLES TOKEN).
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			return words[len(words)-1], nil
		}
	}
	return "", fmt.Errorf("%s has no token: write it into the first line", path)
}

// open asks once. The body of the answer is read and closed by the caller.
func (d *daemon) open(ctx context.Context, method, target string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, d.base+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if d.token != "" {
		request.Header.Set("Authorization", "Bearer "+d.token)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	// Not sent. It says to net/http that the request may be repeated where the daemon has closed an idle connection.
	request.Header["X-Idempotency-Key"] = nil
	response, err := d.http.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // Without the URL, which stands before it.
		}
		return nil, d.unreachable(err)
	}
	d.isAway.Store(false)
	return response, nil
}

// ask returns the body of a success, or a *ProblemError, or what is ErrUnreachable.
func (d *daemon) ask(ctx context.Context, method, target string, body []byte, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, err := d.open(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, d.unreachable(err)
	}
	if response.StatusCode >= 300 {
		return nil, problemError(response.StatusCode, answer, response.Header.Get("Retry-After"))
	}
	return answer, nil
}

func (d *daemon) unreachable(cause error) error {
	if errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, context.Canceled) {
		cause = errNoAnswerInTime // The context of one try, which the caller does not know.
	}
	return &unreachableError{d.url, cause}
}

type unreachableError struct {
	url   string
	cause error
}

func (e *unreachableError) Error() string {
	return e.url + " does not answer: " + e.cause.Error() + "; " + remedyOf(e.cause)
}

func (e *unreachableError) Is(target error) bool { return target == ErrUnreachable }
func (e *unreachableError) Unwrap() error        { return e.cause }

func remedyOf(cause error) string {
	var name *net.DNSError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(cause, os.ErrNotExist):
		return "no socket is there: start the daemon (ackbox serve), or correct the path"
	case errors.Is(cause, syscall.ECONNREFUSED):
		return "nothing listens there: start the daemon (ackbox serve), or correct the address"
	case errors.Is(cause, os.ErrPermission):
		return "this user may not open the socket: see `listen` in docs/configuration.md"
	case errors.As(cause, &name):
		return "correct the name of the host"
	case errors.As(cause, &authority), errors.As(cause, &host):
		return "give the authority of the daemon's certificate by TLS, or correct the host"
	case errors.As(cause, &record):
		return "the other side does not speak TLS as this one: correct the scheme or the port"
	case cause == errNoAnswerInTime:
		return "the daemon is too busy, or something between does not let connections through"
	}
	return "look at the daemon's log, and whether another program listens there"
}

// pauseAfter is how long to wait after so many failures in a row: doubling, and drawn, so that clients do not come
// together.
func pauseAfter(failures int) time.Duration {
	longest := pauseMost
	if failures < 7 {
		longest = pauseFirst << failures
	}
	// Not math/rand, which draws the same in each process before Go 1.20.
	var drawn [2]byte
	if _, err := rand.Read(drawn[:]); err != nil {
		return longest
	}
	return longest/2 + longest/2*time.Duration(binary.BigEndian.Uint16(drawn[:]))/math.MaxUint16
}

// nextPause is the longer of the backoff and what the daemon asks for.
func nextPause(failures int, err error) time.Duration {
	pause := pauseAfter(failures)
	if wish := wishedPause(err); wish > pause {
		return wish
	}
	return pause
}

// wait returns early when ctx ends.
func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
