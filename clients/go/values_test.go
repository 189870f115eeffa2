package ackbox

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

type item struct {
	Price  float64 `json:"price"`
	Hidden func()  `json:"-"`
	secret chan int
}

func TestWhatJSONCannotHoldIsRefusedWithItsPathAndNothingIsSent(t *testing.T) {
	itself := map[string]any{}
	itself["a"] = itself
	var pointer any
	pointer = &pointer
	server, client := serve(t, Options{})
	for wanted, data := range map[string]any{
		"data.items[1].price is NaN":          map[string]any{"items": []item{{Price: 1}, {Price: math.NaN()}}},
		"data is -Inf":                        float32(math.Inf(-1)),
		"data[0] is a text that is not UTF-8": [1]string{"\xff"},
		"data has a key that is not UTF-8":    map[string]int{"\xed\xa0\x80": 1},
		"data.f is a func(), which":           map[string]any{"f": func() {}},
		"data is a complex128, which":         1i,
		"the value is nested too deep":        itself,
		"the value is nested too deep,":       pointer,
		"data is nested more than 62 levels":  json.RawMessage(strings.Repeat("[", 63) + strings.Repeat("]", 63)),
		"data cannot be JSON":                 json.RawMessage("[1,]"),
		"data is not UTF-8":                   json.RawMessage("\"\xff\""),
	} {
		var wrong *ValueError
		_, err := client.Enqueue(ctx, Message{Peer: "bob", Type: "t", Data: data})
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), wanted) {
			t.Fatalf("%s: %v", wanted, err)
		}
	}
	expect(t, len(server.requests()), 0)
}

func TestWhatJSONCanHoldIsCarried(t *testing.T) {
	for wanted, data := range map[string]any{
		"null":                       nil,
		`{"price":0.1}`:              item{Price: 0.1, Hidden: func() {}, secret: make(chan int)},
		`"AP8="`:                     []byte{0, 255},
		`"<&>` + "\uFFFD":            "<&>\uFFFD",
		`1e400`:                      json.Number("1e400"),
		`"2026-01-31T00:00:00Z"`:     time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		`{"1":[],"\\\"[[":"\"[[[["}`: map[string]any{"1": []int{}, `\"[[`: `"[[[[`},
	} {
		text, err := toJSON(data, "data", 2)
		if err != nil || !strings.HasPrefix(string(text), wanted) {
			t.Fatalf("%s: %s %v", wanted, text, err)
		}
	}
}

// The values that all clients are tried with, by the verdicts on this one.
func TestTheSharedValuesAreCarriedExactlyOrRefused(t *testing.T) {
	text, err := os.ReadFile("../../tests/clients/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var values []struct {
		Name, Hex, Verdict string
		JSON               any
		But                map[string]string
	}
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	for _, value := range values {
		raw, _ := hex.DecodeString(value.Hex)
		if whole, isText := value.JSON.(string); isText {
			raw = []byte(whole)
		}
		if pieces, isList := value.JSON.([]any); isList {
			for index := 0; index < len(pieces); index += 2 {
				count := 1
				if index+1 < len(pieces) {
					count = int(pieces[index+1].(float64))
				}
				raw = append(raw, strings.Repeat(pieces[index].(string), count)...)
			}
		}
		verdict := value.Verdict
		if own, isThere := value.But["go"]; isThere {
			verdict = own
		}
		data, dataErr := toJSON(json.RawMessage(raw), "data", dataDepthMost)
		result, resultErr := resultToJSON(json.RawMessage(raw), "result")
		// The daemon refuses what is too large.
		isRefused := dataErr != nil || len(data) > 256*1024
		if isRefused != (verdict == "refused") || (resultErr != nil) != (verdict != "carried") {
			t.Errorf("%s, %s: %v, %v", value.Name, verdict, dataErr, resultErr)
		}
		if verdict == "carried" {
			var wanted bytes.Buffer
			json.Compact(&wanted, raw)
			expect(t, string(data), wanted.String())
			expect(t, string(result), wanted.String())
		}
	}
}
