package ackbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

const pushed = `{"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"t","data":{"n":1}}`

func secretOf(letter string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
}

func signedHeader(id, timestamp, body, letter, before string) http.Header {
	digest := hmac.New(sha256.New, []byte(strings.Repeat(letter, 32)))
	digest.Write([]byte(id + "." + timestamp + "." + body))
	header := http.Header{}
	header.Set("webhook-id", id)
	header.Set("webhook-timestamp", timestamp)
	header.Set("webhook-signature", before+"v1,"+base64.StdEncoding.EncodeToString(digest.Sum(nil)))
	return header
}

func at(seconds int64) WebhookOptions { return WebhookOptions{Now: time.Unix(seconds, 0)} }

func TestASignedRequestIsAnEvent(t *testing.T) {
	secrets := []string{secretOf("n"), secretOf("k")}
	event, err := VerifyWebhook(secrets, signedHeader("m1", "1000", pushed, "k", "v1a,xyz v1,bm90IHRoaXM= "), []byte(pushed), at(1299))
	expect(t, err, nil)
	expect(t, []any{event.ID, string(event.Data), event.Sequence}, []any{"m1", `{"n":1}`, int64(0)})
}

func TestARequestThatIsNotSignedIsRefused(t *testing.T) {
	good := signedHeader("m1", "1000", pushed, "k", "")
	changed := func(name, value string) http.Header {
		header := good.Clone()
		header.Set(name, value)
		return header
	}
	signature := good.Get("webhook-signature")
	for name, one := range map[string]struct {
		header http.Header
		body   string
		now    int64
	}{
		"another body":               {good, strings.Replace(pushed, "1}", "2}", 1), 1000},
		"too old":                    {good, pushed, 1301},
		"of the future":              {good, pushed, 699},
		"another key":                {signedHeader("m1", "1000", pushed, "x", ""), pushed, 1000},
		"another id":                 {changed("webhook-id", "m2"), pushed, 1000},
		"no headers":                 {http.Header{}, pushed, 1000},
		"a timestamp that is a word": {changed("webhook-timestamp", "1e3"), pushed, 1000},
		"another version":            {changed("webhook-signature", strings.Replace(signature, "v1", "v2", 1)), pushed, 1000},
		"not ASCII":                  {changed("webhook-signature", signature+" v1,ä"), pushed, 1000},
		"no event":                   {signedHeader("m1", "1000", "[]", "k", ""), "[]", 1000},
		"no source":                  {signedHeader("m1", "1000", `{"id":"m1"}`, "k", ""), `{"id":"m1"}`, 1000},
	} {
		if _, err := VerifyWebhook([]string{secretOf("k")}, one.header, []byte(one.body), at(one.now)); !errors.Is(err, ErrSignatureInvalid) {
			t.Fatal(name, err)
		}
	}
	for _, secret := range []string{"", "whsec_", "whsec_#"} {
		if _, err := VerifyWebhook([]string{secret}, good, []byte(pushed), at(1000)); err == nil || errors.Is(err, ErrSignatureInvalid) {
			t.Fatal(secret, err)
		}
	}
}
