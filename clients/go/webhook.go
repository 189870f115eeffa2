package ackbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const toleranceDefault = 5 * time.Minute

// WebhookOptions are those of VerifyWebhook.
type WebhookOptions struct {
	// Tolerance is how far the time of a request may be from this machine's. 0: 5 minutes.
	Tolerance time.Duration
	// Now is this machine's time. Zero: time.Now().
	Now time.Time
}

// VerifyWebhook returns the event of a request that the daemon posts (Standard Webhooks), if its signature is by one of
// secrets (whsec_…).
//
// body must be the bytes that came. The error is ErrSignatureInvalid, or another one where a secret is malformed. A
// request that is repeated within the tolerance is valid: Marks.Apply recognises it. Ed25519 keys (whpk_) are not
// supported. Safe for concurrent use.
func VerifyWebhook(secrets []string, header http.Header, body []byte, options WebhookOptions) (*Event, error) {
	keys := make([][]byte, 0, len(secrets))
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(secret), "whsec_"))
		if err != nil || len(key) == 0 {
			return nil, errors.New("a secret must be whsec_ and base64")
		}
		keys = append(keys, key)
	}
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	signatures := header.Get("webhook-signature")
	if !isASCII(id + timestamp + signatures) {
		return nil, signatureInvalid("the headers of the signature are not ASCII")
	}
	if id == "" || timestamp == "" || signatures == "" {
		return nil, signatureInvalid("the request is not signed")
	}
	seconds, err := strconv.ParseUint(timestamp, 10, 39)
	if err != nil {
		return nil, signatureInvalid("webhook-timestamp is not a number")
	}
	if !isRecent(time.Unix(int64(seconds), 0), options) {
		return nil, signatureInvalid("webhook-timestamp is too far from this machine's clock")
	}
	if !isSigned(keys, id+"."+timestamp+".", body, signatures) {
		return nil, signatureInvalid("no signature is by a known key")
	}
	event, err := parseEvent(body)
	if err != nil {
		return nil, signatureInvalid("the body is not a CloudEvent")
	}
	return event, nil
}

func isRecent(signed time.Time, options WebhookOptions) bool {
	if options.Now.IsZero() {
		options.Now = time.Now()
	}
	if options.Tolerance == 0 {
		options.Tolerance = toleranceDefault
	}
	age := options.Now.Sub(signed)
	return age <= options.Tolerance && -age <= options.Tolerance
}

// isSigned compares all, so that the time shows nothing.
func isSigned(keys [][]byte, head string, body []byte, signatures string) bool {
	matches := false
	for _, key := range keys {
		digest := hmac.New(sha256.New, key)
		digest.Write([]byte(head))
		digest.Write(body)
		expected := []byte(base64.StdEncoding.EncodeToString(digest.Sum(nil)))
		for _, part := range strings.Fields(signatures) {
			if strings.HasPrefix(part, "v1,") && hmac.Equal(expected, []byte(part[len("v1,"):])) {
				matches = true
			}
		}
	}
	return matches
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(one rune) bool { return one >= 0x80 }) < 0
}
