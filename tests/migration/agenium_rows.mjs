// The real package `agenium`: its outbox with messages in each state, as an agent leaves it.
//
//   node agenium_rows.mjs make NAME FOLDER SESSIONS   enqueues 10 messages in each session, and ends without closing
//   node agenium_rows.mjs hold NAME FOLDER            has the file open until its input ends
//   node agenium_rows.mjs send NAME FOLDER            prints what its outbox would send, as JSON lines
import { webcrypto } from 'node:crypto';
import { createDatabase, createEventFrame, createOutboxManager, createRequestFrame } from 'agenium';

// Node 18 has it in scripts, and not yet in modules.
globalThis.crypto ??= webcrypto;
const [action, name, folder, sessions] = process.argv.slice(2);
const database = createDatabase(name, folder);
database.open();
const outbox = createOutboxManager(database);

// Runs its outbox until each message that waits has an outcome.
async function run(send) {
  outbox.setSendFunction(async (sessionId, frame) => send(sessionId, frame));
  outbox.isRunning = true;
  await outbox.processOutbox();
  outbox.isRunning = false;
}

function session(id, remote) {
  database.saveSession({
    sessionId: id, remoteAgentName: remote, remotePublicKey: 'k', endpoint: 'https://localhost:8443', host: 'localhost', port: 8443,
    state: 'ACTIVE', capabilities: '[]', createdAt: 1, lastSeenAt: 1, lastErrorCode: null, protocolVersion: '1.0',
  });
}

function enqueue(id, frame) {
  if (!outbox.enqueue(id, frame).success) {
    throw new Error('its outbox refuses');
  }
}

if (action === 'make') {
  session('old', 'bob');
  enqueue('old', createEventFrame('old', 'order.placed', { n: 'answered' }));
  await run(() => ({ success: true }));
  enqueue('old', createEventFrame('old', 'order.placed', { n: 'given up' }));
  await run(() => ({ success: false, error: 'HTTP 400' }));
  enqueue('old', createEventFrame('old', 'order.placed', { n: 'tried' }));
  await run(() => ({ success: false, error: 'TIMEOUT' }));
  enqueue('old', createEventFrame('old', 'ACK', { msgId: 'theirs' }));
  for (let number = 0; number < Number(sessions); number += 1) {
    session(`s${number}`, 'bob');
  }
  for (let n = 0; n < 10; n += 1) {
    for (let number = 0; number < Number(sessions); number += 1) {
      const id = `s${number}`;
      const data = { n, text: 'na\u00efve \u2713 \ud83d\ude00', amount: 1e21 };
      enqueue(id, n % 2 ? createRequestFrame(id, 'order.place', data) : createEventFrame(id, 'order.placed', data));
    }
  }
  process.exit(0);
} else if (action === 'hold') {
  console.log(database.getStats().outboxPending);
  process.stdin.resume();
  process.stdin.on('end', () => process.exit(0));
} else {
  await run((_, frame) => { console.log(JSON.stringify(frame)); return { success: true }; });
  process.exit(0);
}
