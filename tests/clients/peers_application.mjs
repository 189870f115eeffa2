// The TypeScript application of peers_test.py: makes each call of the list, and prints the outcomes.
//
//   peers_application.mjs URL CALLS

import { readFileSync } from 'node:fs';
import { Client, ProblemError } from 'ackbox';

const client = new Client(process.argv[2]);
const plays = {
  addPeer: ({ name, definition }) => client.addPeer(name, definition),
  removePeer: async ({ name, ...options }) => {
    const { left, subscriptions } = await client.removePeer(name, options);
    return [left, subscriptions];
  },
  peers: async () => (await client.peers()).filter((one) => one.state !== 'removed').map((one) => one.peer),
  subscribe: ({ name, peer, ...options }) => client.subscribe(name, peer, options),
  unsubscribe: ({ name }) => client.unsubscribe(name),
  subscriptions: async () =>
    (await client.subscriptions()).map(({ name, peer, type, session }) => [name, peer, type, session].join(' ')),
  enqueue: async ({ peer }) => (await client.enqueue(peer, 't')).isAccepted,
};

const outcomes = [];
for (const [name, given] of JSON.parse(readFileSync(process.argv[3], 'utf8'))) {
  try {
    outcomes.push(await plays[name](given));
  } catch (error) {
    if (!(error instanceof ProblemError)) {
      throw error;
    }
    outcomes.push(`status ${error.status}`);
  }
}
console.log(JSON.stringify(outcomes));
