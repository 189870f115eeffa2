package ackbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// answer is one of a scripted daemon. Status 0: the connection is closed without one.
type answer struct {
	status     int
	body       string
	retryAfter string
	// isOpen: the body goes on until the client has gone.
	isOpen bool
}

type asked struct {
	method, target, token, body string
}

// script answers in order, and keeps the requests. What is asked for beyond the answers gets none.
type script struct {
	t       *testing.T
	url     string
	mutex   sync.Mutex
	answers []answer
	asked   []asked
	// more has an entry for each request.
	more chan struct{}
}

func serve(t *testing.T, options Options, answers ...answer) (*script, *Client) {
	t.Helper()
	made := &script{t: t, answers: answers, more: make(chan struct{}, 1000)}
	server := httptest.NewServer(made)
	made.url = server.URL
	if options.ErrorLog == nil {
		options.ErrorLog = log.New(io.Discard, "", 0)
	}
	client, err := New(server.URL, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	t.Cleanup(client.Close)
	return made, client
}

func (s *script) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	s.mutex.Lock()
	s.asked = append(s.asked, asked{request.Method, request.RequestURI, request.Header.Get("Authorization"), string(body)})
	var given answer
	if len(s.answers) > 0 {
		given, s.answers = s.answers[0], s.answers[1:]
	}
	s.mutex.Unlock()
	s.more <- struct{}{}
	if given.status == 0 {
		panic(http.ErrAbortHandler)
	}
	if given.retryAfter != "" {
		writer.Header().Set("Retry-After", given.retryAfter)
	}
	writer.WriteHeader(given.status)
	io.WriteString(writer, given.body)
	if given.isOpen {
		writer.(http.Flusher).Flush()
		<-request.Context().Done()
	}
}

func (s *script) requests() []asked {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]asked{}, s.asked...)
}

func (s *script) expectRequests(wanted ...string) {
	s.t.Helper()
	var found []string
	for _, one := range s.requests() {
		found = append(found, one.method+" "+strings.Split(one.target, "?")[0])
	}
	if !reflect.DeepEqual(found, wanted) {
		s.t.Fatalf("requests: %v", found)
	}
}

func problem(status int, title string) answer {
	return answer{status: status, body: `{"type":"about:blank","title":"` + title + `","detail":"because"}`}
}

func expect(t *testing.T, found, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(found, wanted) {
		t.Fatalf("%v instead of %v", found, wanted)
	}
}

var (
	ctx    = context.Background()
	stored = answer{status: 201, body: `{"status":"stored","message_id":"m1","sequence":3}`}
)

func members(t *testing.T, text string) map[string]any {
	t.Helper()
	var read map[string]any
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestAnEnqueueIsTriedAgainWithTheSameKeyAfterALostAnswer(t *testing.T) {
	server, client := serve(t, Options{Token: strings.Repeat("t", 24)},
		answer{}, problem(503, "Busy"), problem(507, "Full"), answer{status: 502}, stored)
	result, err := client.Enqueue(ctx, Message{Peer: "bob", Type: "t", Data: map[string]any{"ä": "<"}, Session: "s"})
	expect(t, err, nil)
	expect(t, result, Enqueued{"stored", "m1", 3, ""})
	requests := server.requests()
	expect(t, len(requests), 5)
	for _, one := range requests {
		expect(t, one, requests[0])
	}
	expect(t, requests[0].token, "Bearer "+strings.Repeat("t", 24))
	sent := members(t, requests[0].body)
	expect(t, len(sent["idempotency_key"].(string)), 32)
	delete(sent, "idempotency_key")
	expect(t, sent, map[string]any{"peer": "bob", "type": "t", "session": "s", "data": map[string]any{"ä": "<"}})
}

func TestAMessageGoesToTheDefaultSessionUnlessAnotherIsGivenAndHasAKeyOfItsOwn(t *testing.T) {
	server, client := serve(t, Options{}, stored, stored, stored, stored)
	lowest := 0
	later := time.Date(2026, 1, 31, 23, 59, 59, 999_999_999, time.FixedZone("", -5*3600))
	for _, message := range []Message{
		{Peer: "bob", Type: "t"}, {Peer: "bob", Type: "t"}, {Peer: "bob", Type: "t", MessageID: "m", Unordered: true},
		{Peer: "bob", Type: "t", Session: "s", IdempotencyKey: "k", NotBefore: later.Add(-time.Hour), ExpiresAt: later,
			Priority: &lowest, SupersedeKey: "x", CorrelationID: "c", TraceParent: "p"},
	} {
		if _, err := client.Enqueue(ctx, message); err != nil {
			t.Fatal(err)
		}
	}
	requests := server.requests()
	first, second := members(t, requests[0].body), members(t, requests[1].body)
	if first["idempotency_key"] == second["idempotency_key"] {
		t.Fatal("two messages have one key")
	}
	expect(t, first["session"], nil)
	expect(t, requests[2].body, `{"peer":"bob","session":"","type":"t","data":null,"message_id":"m"}`)
	expect(t, requests[3].body, `{"peer":"bob","session":"s","type":"t","data":null,"idempotency_key":"k",`+
		`"not_before_ms":1769918399999,"expires_at_ms":1769921999999,"priority":0,"supersede_key":"x","correlation_id":"c",`+
		`"traceparent":"p"}`)
}

func TestEachRefusalHasItsErrorAndTheTextOfTheProblem(t *testing.T) {
	t.Parallel()
	for status, wanted := range map[int]error{401: ErrUnauthenticated, 403: ErrForbidden, 404: ErrNotFound, 409: ErrConflict,
		413: ErrTooLarge, 422: ErrInvalid, 400: nil} {
		server, client := serve(t, Options{}, problem(status, "Refused"))
		_, err := client.Enqueue(ctx, Message{Peer: "bob", Type: "t"})
		var refused *ProblemError
		if !errors.As(err, &refused) || refused.Status != status || wanted != nil && !errors.Is(err, wanted) ||
			!strings.HasSuffix(err.Error(), " Refused: because") || errors.Is(err, ErrQueueFull) {
			t.Fatal(status, err)
		}
		expect(t, len(server.requests()), 1)
	}
	_, client := serve(t, Options{}, answer{status: 418, body: "<html>teapot"}, answer{status: 302})
	_, err := client.Stats(ctx)
	expect(t, err.Error(), "418 <html>teapot")
	_, err = client.Stats(ctx)
	expect(t, err.Error(), "302")
}

func TestWhatDoesNotPassInTimeIsReturned(t *testing.T) {
	full := problem(429, "Queue full")
	full.retryAfter = "9"
	_, client := serve(t, Options{RetryFor: time.Second}, full)
	_, err := client.Enqueue(ctx, Message{Peer: "bob", Type: "t"})
	var refused *ProblemError
	if !errors.Is(err, ErrQueueFull) || !errors.As(err, &refused) || refused.RetryAfter != 9*time.Second {
		t.Fatal(err)
	}
	nowhere, err := New("unix:/nowhere/s.sock", Options{RetryFor: -1})
	expect(t, err, nil)
	_, err = nowhere.Stats(ctx)
	if !errors.Is(err, ErrUnreachable) || !errors.Is(err, os.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "unix:/nowhere/s.sock does not answer: dial unix") || !strings.Contains(err.Error(), "no socket is there") {
		t.Fatal(err)
	}
	_, client = serve(t, Options{RetryFor: -1, Timeout: 20 * time.Millisecond}, answer{status: 200, body: "{", isOpen: true})
	_, err = client.Stats(ctx)
	if !errors.Is(err, ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "in time") {
		t.Fatal(err)
	}
}

func TestPausesDoubleAndAreDrawn(t *testing.T) {
	for failures, longest := range []time.Duration{50, 100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		longest *= time.Millisecond
		drawn := map[time.Duration]bool{}
		for range [32]int{} {
			pause := pauseAfter(failures)
			if drawn[pause] = true; pause < longest/2 || pause > longest {
				t.Fatal(failures, pause)
			}
		}
		if len(drawn) < 16 {
			t.Fatal(drawn)
		}
	}
}

func TestAContextEndsWhatIsTriedAgain(t *testing.T) {
	_, client := serve(t, Options{RetryFor: time.Hour})
	limited, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err := client.Enqueue(limited, Message{Peer: "bob", Type: "t"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	client.Close()
	_, err = client.Enqueue(ctx, Message{Peer: "bob", Type: "t"})
	expect(t, err, ErrClosed)
}

func TestTheFirstFailureSinceAnAnswerIsWarnedOfWithTheRemedy(t *testing.T) {
	var text strings.Builder
	warnings := log.New(&text, "", 0)
	_, client := serve(t, Options{ErrorLog: warnings}, answer{}, answer{}, stored)
	if _, err := client.Enqueue(ctx, Message{Peer: "bob", Type: "t"}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{client.daemon.url + " does not answer: EOF; look at the daemon's log", "it is tried again"} {
		expect(t, strings.Count(text.String(), part), 1)
	}
	_, client = serve(t, Options{ErrorLog: warnings}, answer{}, answer{}, stored, answer{}, answer{}, problem(503, "Busy"), stored)
	for range [2]int{} {
		if _, err := client.Enqueue(ctx, Message{Peer: "bob", Type: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, strings.Count(text.String(), "it is tried again"), 3)
}

func TestManyAreAnsweredOneByOneAndAValueIsNamedByItsPlace(t *testing.T) {
	server, client := serve(t, Options{}, answer{status: 207, body: `{"results":[
		{"status":"stored","message_id":"a","sequence":1},{"status":"queueFull","detail":"full"}]}`})
	results, err := client.EnqueueMany(ctx, []Message{{Peer: "bob", Type: "t"}, {Peer: "bob", Type: "u"}})
	expect(t, err, nil)
	expect(t, results, []Enqueued{{"stored", "a", 1, ""}, {"queueFull", "", 0, "full"}})
	expect(t, []bool{results[0].IsAccepted(), results[1].IsAccepted()}, []bool{true, false})
	_, err = client.EnqueueMany(ctx, []Message{{}, {Data: map[string]any{"a": []any{1, make(chan int)}}}})
	var wrong *ValueError
	if !errors.As(err, &wrong) || err.Error() != "messages[1].data.a[1] is a chan int, which JSON cannot hold" {
		t.Fatal(err)
	}
	_, err = client.Enqueue(ctx, Message{Session: "s", Unordered: true})
	if !errors.As(err, &wrong) || wrong.Path != "Session" {
		t.Fatal(err)
	}
	expect(t, len(server.requests()), 1)
}

func TestAWaitThatIsRefusedWaitsAsLongAsItIsToldAndThenOnlyLooks(t *testing.T) {
	t.Parallel()
	busy := problem(503, "Too many requests wait")
	busy.retryAfter = "1"
	server, client := serve(t, Options{}, busy, answer{status: 200, body: `{"message_id":"m/1","state":"pending"}`},
		answer{status: 200, body: `{"message_id":"m1","state":"acked","result":{"n": 1}}`})
	shown, err := client.Message(ctx, "m/1", 200*time.Millisecond)
	if err != nil || shown.State != "pending" || shown.Result != nil {
		t.Fatal(shown, err)
	}
	expect(t, server.requests()[1].target, "/v1/messages/m%2F1?wait=0ms")
	shown, err = client.Message(ctx, "m1", 0)
	if err != nil || string(shown.Result) != `{"n": 1}` {
		t.Fatal(shown, err)
	}
	expect(t, server.requests()[2].target, "/v1/messages/m1")
}

func TestAddressesAndTokens(t *testing.T) {
	for _, address := range []string{"unix:", "ftp://a", "localhost:7070", "http://user:password@localhost", "", "http://", "http://a?b"} {
		if _, err := New(address, Options{}); err == nil {
			t.Fatal(address)
		}
	}
	file := filepath.Join(t.TempDir(), "tokens")
	for text, wanted := range map[string]string{"secret\n": "secret", "# all\n\napp send,read secret\nops read other\n": "secret",
		"\n": "", "ключ\n": ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		client, err := New("unix:/a", Options{TokenFile: file})
		if wanted == "" && err == nil || wanted != "" && (err != nil || client.daemon.token != wanted) {
			t.Fatal(text, err)
		}
	}
	if _, err := New("unix:/a", Options{TokenFile: file + "x"}); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := New("unix:/a", Options{Token: "a b"}); err == nil || strings.Contains(err.Error(), "a b") {
		t.Fatal(err)
	}
}
