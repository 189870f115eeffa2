package ackbox

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Message is what Enqueue stores. Peer and Type are needed.
type Message struct {
	Peer string
	Type string
	// Data is what encoding/json makes of it, and nil is null. A json.RawMessage is carried with each digit.
	Data any
	// Session is the order that the message belongs to. Empty: the session "default", as by each way to enqueue.
	Session string
	// Unordered: the message belongs to no session. Others need not wait for it, and it needs not wait for others.
	Unordered bool
	// IdempotencyKey: empty: one is made, so that what is tried again is stored once. A caller that calls again, as after
	// a crash, must bring its own.
	IdempotencyKey string
	// NotBefore and ExpiresAt are dropped below milliseconds. Zero: none.
	NotBefore time.Time
	ExpiresAt time.Time
	// Priority is 0 to 9. nil: 4.
	Priority      *int
	SupersedeKey  string
	CorrelationID string
	TraceParent   string
	// MessageID: empty: the daemon makes one.
	MessageID string
}

// wireMessage is as docs/serve.md has it.
type wireMessage struct {
	Peer string `json:"peer"`
	// nil: the daemon takes the session "default"; an empty name: outside any.
	Session        *string         `json:"session,omitempty"`
	Type           string          `json:"type"`
	Data           json.RawMessage `json:"data"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	NotBefore      *int64          `json:"not_before_ms,omitempty"`
	ExpiresAt      *int64          `json:"expires_at_ms,omitempty"`
	Priority       *int            `json:"priority,omitempty"`
	SupersedeKey   string          `json:"supersede_key,omitempty"`
	CorrelationID  string          `json:"correlation_id,omitempty"`
	TraceParent    string          `json:"traceparent,omitempty"`
	MessageID      string          `json:"message_id,omitempty"`
}

// toJSON puts prefix before the paths of its errors.
func (m Message) toJSON(prefix string) (json.RawMessage, error) {
	data, err := toJSON(m.Data, prefix+"data", dataDepthMost)
	if err != nil {
		return nil, err
	}
	if m.Unordered && m.Session != "" {
		return nil, &ValueError{prefix + "Session", "is given, and Unordered, which is for messages without one: leave one out"}
	}
	var session *string
	if m.Unordered || m.Session != "" {
		session = &m.Session
	}
	if m.IdempotencyKey == "" && m.MessageID == "" {
		var key [16]byte
		if _, err := rand.Read(key[:]); err != nil {
			return nil, err
		}
		m.IdempotencyKey = hex.EncodeToString(key[:])
	}
	return toJSON(wireMessage{
		m.Peer, session, m.Type, data, m.IdempotencyKey, milliseconds(m.NotBefore), milliseconds(m.ExpiresAt), m.Priority,
		m.SupersedeKey, m.CorrelationID, m.TraceParent, m.MessageID,
	}, prefix+"message", dataDepthMost+1)
}

func milliseconds(instant time.Time) *int64 {
	if instant.IsZero() {
		return nil
	}
	since := instant.UnixMilli()
	return &since
}

// Enqueued is what became of a message.
type Enqueued struct {
	// Status is "stored" or "duplicate"; of one of many also why it was refused.
	Status string `json:"status"`
	ID     string `json:"message_id"`
	// Sequence is its number in its session; 0: it is outside any.
	Sequence int64  `json:"sequence"`
	Detail   string `json:"detail"`
}

// IsAccepted reports whether the message is stored, now or before.
func (e Enqueued) IsAccepted() bool { return e.Status == "stored" || e.Status == "duplicate" }

// ShownMessage is where a message stands.
type ShownMessage struct {
	ID string `json:"message_id"`
	// State is pending, sending, sent, acked, failed or gone.
	State     string `json:"state"`
	Sentence  string `json:"sentence"`
	Reason    string `json:"reason"`
	LastError string `json:"last_error"`
	// Result is what the peer answered, among the last answers: it is not in the file. nil: none is known.
	Result json.RawMessage `json:"result"`
	// Raw has all members.
	Raw json.RawMessage `json:"-"`
}
