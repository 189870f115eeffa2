package ackbox

import (
	"encoding/json"
	"errors"
	"strconv"
)

// Event is an inbound message, as the daemon posts it or gives it to a stream: a CloudEvent.
type Event struct {
	ID     string
	Source string
	Type   string
	// Data is JSON as it came; nil: the message has none. Decode reads it.
	Data json.RawMessage
	// Session is empty, as Origin, and Sequence 0 where the message is outside any session.
	Session       string
	Origin        string
	Sequence      int64
	CorrelationID string
	TraceParent   string
	// ResentOf: an operator of the sender sends a message again, whose id this is: ID, or that of the message of which this
	// is a copy. Empty: none does.
	ResentOf string
	// Raw has all members.
	Raw json.RawMessage
}

// Decode reads Data into target, as json.Unmarshal does. It leaves target as it is where the message has no data.
func (e *Event) Decode(target any) error {
	if len(e.Data) == 0 {
		return nil
	}
	return json.Unmarshal(e.Data, target)
}

// parseEvent reads members by their exact names: encoding/json would take "ID" for "id".
func parseEvent(raw json.RawMessage) (*Event, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	event := &Event{
		ID: textOf(members["id"]), Source: textOf(members["source"]), Type: textOf(members["type"]), Data: members["data"],
		Session: textOf(members["sessionid"]), Origin: textOf(members["sessionorigin"]),
		CorrelationID: textOf(members["correlationid"]), TraceParent: textOf(members["traceparent"]),
		ResentOf: textOf(members["resentof"]), Raw: raw,
	}
	if event.ID == "" || event.Source == "" {
		return nil, errors.New("a CloudEvent has an id and a source")
	}
	// Counters are text in JSON, as some parsers have no integers of 64 bits.
	if sequence := members["sessionseq"]; len(sequence) > 0 {
		digits := textOf(sequence)
		if digits == "" {
			digits = string(sequence)
		}
		var err error
		if event.Sequence, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return nil, err
		}
	}
	return event, nil
}
