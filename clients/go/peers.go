package ackbox

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
)

// Peer is where messages go, with its state: up, down, held, disabled or paused; or removed, until its messages are gone.
type Peer struct {
	Name  string `json:"peer"`
	State string `json:"state"`
	// Raw has all members, as GET /v1/peers has them.
	Raw json.RawMessage `json:"-"`
}

// Subscription says what a peer gets of what is published: of a type and a session, each exact or a beginning with `*`.
type Subscription struct {
	Name string `json:"name"`
	Peer string `json:"peer"`
	// Type: empty: all.
	Type string `json:"type,omitempty"`
	// Session: empty: all, and messages without one.
	Session string `json:"session,omitempty"`
}

// PeerRemoval is what became of the messages of a peer that was removed.
type PeerRemoval struct {
	// Failed became dead letters.
	Failed int64 `json:"failed"`
	// Left are in flight: remove the peer again until none is.
	Left int64 `json:"left"`
	// Subscriptions of the peer, which were removed with it.
	Subscriptions int64 `json:"subscriptions"`
}

// Peers returns each peer. The error of this and of the other operations is as Enqueue's.
func (c *Client) Peers(ctx context.Context) ([]Peer, error) {
	var answer struct{ Peers []json.RawMessage }
	if err := c.askJSON(ctx, "GET", "/v1/peers", nil, &answer); err != nil {
		return nil, err
	}
	peers := make([]Peer, len(answer.Peers))
	for index, raw := range answer.Peers {
		peers[index].Raw = raw
		if err := json.Unmarshal(raw, &peers[index]); err != nil {
			return nil, err
		}
	}
	return peers, nil
}

// AddPeer adds a peer to the daemon's file, or changes one that was added: definition becomes the fields of an entry of
// `peers` in the configuration, without `name`. It reports whether the peer is new.
func (c *Client) AddPeer(ctx context.Context, name string, definition any) (bool, error) {
	return c.put(ctx, "/v1/peers/"+url.PathEscape(name), definition, "definition")
}

// RemovePeer removes a peer that was added. The error is ErrConflict, and nothing is removed, while messages to it are not
// settled; with failMessages they become dead letters.
func (c *Client) RemovePeer(ctx context.Context, name string, failMessages bool) (PeerRemoval, error) {
	target := "/v1/peers/" + url.PathEscape(name)
	if failMessages {
		target += "?messages=fail"
	}
	var removal PeerRemoval
	err := c.askJSON(ctx, "DELETE", target, nil, &removal)
	return removal, err
}

// Subscriptions returns who gets what is published.
func (c *Client) Subscriptions(ctx context.Context) ([]Subscription, error) {
	var answer struct{ Subscriptions []Subscription }
	err := c.askJSON(ctx, "GET", "/v1/subscriptions", nil, &answer)
	return answer.Subscriptions, err
}

// Subscribe makes or changes the subscription of that name: its peer gets what is published from now on. It reports whether
// the subscription is new.
func (c *Client) Subscribe(ctx context.Context, subscription Subscription) (bool, error) {
	target := "/v1/subscriptions/" + url.PathEscape(subscription.Name)
	wanted := map[string]string{"peer": subscription.Peer, "session": subscription.Session}
	if subscription.Type != "" {
		wanted["type"] = subscription.Type
	}
	return c.put(ctx, target, wanted, "subscription")
}

// Unsubscribe ends a subscription; what is stored stays. It reports whether there was one.
func (c *Client) Unsubscribe(ctx context.Context, name string) (bool, error) {
	err := c.askJSON(ctx, "DELETE", "/v1/subscriptions/"+url.PathEscape(name), nil, &struct{}{})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) put(ctx context.Context, target string, value any, path string) (bool, error) {
	body, err := toJSON(value, path, dataDepthMost)
	if err != nil {
		return false, err
	}
	var answer struct{ Added bool }
	err = c.askJSON(ctx, "PUT", target, body, &answer)
	return answer.Added, err
}
