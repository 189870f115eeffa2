// AGENIUM's own outbox and framing, on the other side of the compatibility path: its messages are taken once, its
// repetitions are told to be duplicates, and its ACK events settle what is owed to it, and nothing else.
//
//   node agenium.mjs PORT COUNT ID...   the ids of messages that wait for this agent's ACK; prints one line of JSON
import http from 'node:http';
import { createEventFrame, createOutboxManager, createRequestFrame, validateFrame } from 'agenium';
import { conform, finish, sign, verify } from './peer.mjs';

const secret = process.env.ACKBOX_INTEROP_SECRET;
const [port, count, ...owed] = [Number(process.argv[2]), Number(process.argv[3]), ...process.argv.slice(4)];
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
const report = { sent: 0, failed: 0, duplicates: 0, acks: 0, unsignedRefused: 0, problems: [] };
const complain = (problem) => { report.problems = [...report.problems, String(problem)].slice(0, 5); };

function post(body, headers) {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method: 'POST', path: '/message', agent, headers: { ...headers, 'content-length': Buffer.byteLength(body) } };
    const request = http.request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString('utf8') }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

async function deliver(frame) {
  if (!validateFrame(frame).valid) {
    throw new Error(`its own validation refuses ${JSON.stringify(frame)}`);
  }
  const body = JSON.stringify(frame);
  conform('agenium_frame', JSON.parse(body));
  const now = new Date();
  const response = await post(body, {
    'content-type': 'application/json',
    'webhook-id': frame.messageId,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': sign(secret, frame.messageId, now, body),
  });
  verify(secret, response.body, response.headers);
  const answer = JSON.parse(response.body);
  conform('agenium_answer', answer);
  return { status: response.status, answer };
}

// Its outbox needs a database of five functions; this one is in memory, as its own is a native module.
const rows = new Map();
const database = {
  getInFlightCount: () => 0,
  enqueueMessage: (row) => rows.set(row.msgId, { ...row, status: 'PENDING', attempts: 0 }),
  getPendingMessages: (limit) => [...rows.values()].filter((row) => row.status === 'PENDING').slice(0, limit),
  updateMessageStatus: (id, status) => { rows.get(id).status = status; },
  ackMessage: (id) => { rows.get(id).status = 'ACKED'; },
};
const outbox = createOutboxManager(database, { processIntervalMs: 5 });
outbox.setSendFunction(async (sessionId, frame) => {
  const { status, answer } = await deliver(frame);
  return { success: status === 200 && answer.ok === true, error: `HTTP ${status}`, isRetryable: status >= 500 };
});
const ended = new Promise((resolve) => {
  // Its passes overlap, so that it may send a message twice.
  const sent = new Set();
  const look = () => { if (sent.size + report.failed === count) resolve(); };
  outbox.on('sent', (info) => { report.sent = sent.add(info.msgId).size; look(); });
  outbox.on('failed', (info) => { report.failed += 1; complain(info.error); look(); });
});
outbox.start();
const frames = Array.from({ length: count }, (_, index) => {
  const session = `s${index % 10}`;
  return index % 2 ? createEventFrame(session, 'order.placed', { index, text: 'na\u00efve \u2713' }) : createRequestFrame(session, 'place', { index });
});
frames.forEach((frame) => outbox.enqueue(frame.sessionId, frame));
await ended;
outbox.stop();

for (const frame of frames.slice(0, 20)) {
  const { status, answer } = await deliver(frame);
  if (status === 200 && answer.ok && answer.duplicate) {
    report.duplicates += 1;
  } else {
    complain(`a repetition was answered ${status} ${JSON.stringify(answer)}`);
  }
}
for (const id of [...owed, 'never-heard-of']) {
  const { status, answer } = await deliver(createEventFrame('s0', 'ACK', { msgId: id }));
  if (status === 200 && answer.ok) {
    report.acks += 1;
  } else {
    complain(`an ACK was answered ${status} ${JSON.stringify(answer)}`);
  }
}
const refused = await post(JSON.stringify(createEventFrame('s0', 'order.placed', {})), { 'content-type': 'application/json' });
report.unsignedRefused = refused.status === 401 ? 1 : 0;
agent.destroy();
finish(report);
process.exit(0);
