// An agent on Node beside `ackbox serve`: it throws each ball back, and survives kill -9 at any instant. Its only effect
// is a message, so that it needs no database: the key makes a second throw of the same ball a duplicate.
//
//   cd examples/20_typescript_agent && npm install --offline && node main.mjs URL PEER
//
// URL is its daemon, such as `examples/run --serve` starts. Node runs it as it is; the compiler checks it, as it would a
// TypeScript program.
// @ts-check

import { Client } from 'ackbox';

const [url = '', peer = ''] = process.argv.slice(2);
const agent = new Client(url);

for await (const frame of agent.receive({ types: 'ball', sessions: 'game' })) {
  const ball = /** @type {{ n: number }} */ (frame.data);
  const options = { session: 'game', idempotencyKey: `answer-to-${frame.id}` };
  // What the work throws is the reason of a retry.
  await frame.attempt(async () => {
    await agent.enqueue(peer, 'ball', { n: ball.n + 1 }, options);
    await frame.ack();
  });
  console.log('threw back', ball.n);
}
