// The TypeScript application of values_test.py: enqueues each value at alice, and answers each frame at bob with its data.
//
//   values_application.mjs ALICE BOB < VALUES
//
// VALUES: [[index, JSON], …]. Prints what the client refused, by index: "data" or "result".

import { readFileSync } from 'node:fs';
import { Client, TooLarge } from 'ackbox';

const [aliceUrl, bobUrl] = process.argv.slice(2);
const alice = new Client(aliceUrl, { retryFor: 0 });
const refused = {};
const sent = new Map();

async function note(index, what, work) {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof TooLarge)) {
      throw error;
    }
    refused[index] = what;
    return false;
  }
}

for (const [index, json] of JSON.parse(readFileSync(0, 'utf8'))) {
  const messageId = `typescript-${index}`;
  if (await note(index, 'data', () => alice.enqueue('bob', 'typescript', JSON.parse(json), { messageId }))) {
    sent.set(messageId, index);
  }
}
for await (const frame of new Client(bobUrl).receive({ types: 'typescript', window: 256 })) {
  if (!(await note(sent.get(frame.id), 'result', () => frame.ack(frame.data)))) {
    await frame.reject('its client refuses the result');
  }
  sent.delete(frame.id);
  if (sent.size === 0) {
    break;
  }
}
console.log(JSON.stringify(refused));
