// The Go application of peers_test.py: makes each call of the list, and prints the outcomes.
//
//	peers_application URL CALLS
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"ackbox"
)

type arguments struct {
	Name         string
	Peer         string
	Type         string
	Session      string
	FailMessages bool
	Definition   json.RawMessage
}

// play returns the outcome of a call.
func play(client *ackbox.Client, function string, given arguments) (any, error) {
	ctx := context.Background()
	switch function {
	case "addPeer":
		return client.AddPeer(ctx, given.Name, given.Definition)
	case "removePeer":
		removal, err := client.RemovePeer(ctx, given.Name, given.FailMessages)
		return []int64{removal.Left, removal.Subscriptions}, err
	case "peers":
		names := []string{}
		peers, err := client.Peers(ctx)
		for _, peer := range peers {
			if peer.State != "removed" {
				names = append(names, peer.Name)
			}
		}
		return names, err
	case "subscribe":
		return client.Subscribe(ctx, ackbox.Subscription{
			Name: given.Name, Peer: given.Peer, Type: given.Type, Session: given.Session})
	case "unsubscribe":
		return client.Unsubscribe(ctx, given.Name)
	case "subscriptions":
		lines := []string{}
		subscriptions, err := client.Subscriptions(ctx)
		for _, one := range subscriptions {
			lines = append(lines, strings.Join([]string{one.Name, one.Peer, one.Type, one.Session}, " "))
		}
		return lines, err
	}
	enqueued, err := client.Enqueue(ctx, ackbox.Message{Peer: given.Peer, Type: "t"})
	return enqueued.IsAccepted(), err
}

func main() {
	client, err := ackbox.New(os.Args[1], ackbox.Options{})
	check(err)
	text, err := os.ReadFile(os.Args[2])
	check(err)
	var calls [][]json.RawMessage
	check(json.Unmarshal(text, &calls))
	outcomes := make([]any, len(calls))
	for index, call := range calls {
		var function string
		var given arguments
		check(json.Unmarshal(call[0], &function))
		check(json.Unmarshal(call[1], &given))
		outcome, err := play(client, function, given)
		var problem *ackbox.ProblemError
		if errors.As(err, &problem) {
			outcome, err = fmt.Sprintf("status %d", problem.Status), nil
		}
		check(err)
		outcomes[index] = outcome
	}
	check(json.NewEncoder(os.Stdout).Encode(outcomes))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
