// An independent receiver: takes requests of ackbox, verifies them with other people's libraries and answers ACKs; or,
// with ACKBOX_INTEROP_WEBHOOK, answers a bare 204 as a receiver does that knows Standard Webhooks and nothing else.
// With ACKBOX_INTEROP_TAMPER its first answers are tampered with, each in another way: the sender must take none of
// them for an ACK, and ask again.
//
//   node receive.mjs SECRET COUNT    prints {"port":N}, then, after COUNT frames, {"frames":…,"requests":…,"refused":…}
import http from 'node:http';
import { CloudEvent, HTTP } from 'cloudevents';
import { conform, finish, refusedByLibraries, signed, verify } from './peer.mjs';
import { tamperings } from './tamper.mjs';

const [secret, count] = [process.env.ACKBOX_INTEROP_SECRET, Number(process.argv[2])];
const report = { frames: 0, requests: 0, batches: 0, refused: 0, outOfOrder: 0, problems: [] };
const last = new Map();
const tampers = tamperings(secret);
const unsent = process.env.ACKBOX_INTEROP_TAMPER ? [...tampers] : [];
Object.assign(report, { tampered: 0, tamperedRefused: 0, tamperedAnswers: 0 });

// The first request, changed in each way: the libraries must refuse all of them.
function tamperWith(request, body) {
  for (const [what, change] of tampers) {
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.startsWith('webhook-')));
    // Of a rotation's two signatures the current key's; with the other one left, a cut would change nothing.
    headers['webhook-signature'] = headers['webhook-signature'].split(' ')[0];
    if (refusedByLibraries(secret, body, headers)) {
      throw new Error('the untouched request is refused');
    }
    const changed = { id: headers['webhook-id'], type: request.headers['content-type'], headers, body };
    change(changed);
    report.tampered += 1;
    if (refusedByLibraries(secret, changed.body, changed.headers)) {
      report.tamperedRefused += 1;
    } else {
      report.problems = [...report.problems, `${what}: taken`].slice(0, 5);
    }
  }
}

function takeWebhook(request, body) {
  verify(secret, body, request.headers);
  if (request.headers['content-type'] !== 'application/json') {
    throw new Error(`content-type ${request.headers['content-type']}`);
  }
  const document = JSON.parse(body);
  conform('frame', document);
  const event = new CloudEvent(document);
  event.validate();
  if (event.id !== request.headers['webhook-id']) {
    throw new Error(`the event ${event.id} came as ${request.headers['webhook-id']}`);
  }
  note([event]);
}

function note(events) {
  for (const event of events) {
    const lane = `${event.sessionorigin} ${event.sessionid}`;
    if (BigInt(event.sessionseq) !== (last.get(lane) ?? 0n) + 1n) {
      report.outOfOrder += 1;
    }
    last.set(lane, BigInt(event.sessionseq));
  }
  report.frames += events.length;
}

function answer(request, body, counts) {
  verify(secret, body, request.headers);
  const batch = request.headers['content-type'] === 'application/cloudevents-batch+json';
  const document = JSON.parse(body);
  conform(batch ? 'batch' : 'frame', document);
  const events = [HTTP.toEvent({ headers: request.headers, body })].flat();
  events.forEach((event) => event.validate());
  if (counts) {
    note(events);
    report.batches += batch ? 1 : 0;
  }
  return {
    outbox: '1',
    delivery: request.headers['webhook-id'],
    store: 'node',
    results: events.map((event) => ({ id: event.id, outcome: 'ack' })),
    credit: { frames: process.env.ACKBOX_INTEROP_BATCH ? 256 : 1, bytes: 1048576 },
  };
}

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString('utf8');
    report.requests += 1;
    try {
      if (report.requests === 1) {
        tamperWith(request, body);
      }
      if (process.env.ACKBOX_INTEROP_WEBHOOK) {
        takeWebhook(request, body);
        response.writeHead(204);
        response.end();
        return;
      }
      const tampering = unsent.shift();
      const document = answer(request, body, tampering === undefined);
      const reply = { id: `re_${request.headers['webhook-id']}`, type: 'application/json', body: JSON.stringify(document) };
      reply.headers = signed(secret, reply.id, reply.type, reply.body);
      if (tampering) {
        tampering[1](reply);
        report.tamperedAnswers += refusedByLibraries(secret, reply.body, reply.headers) ? 1 : 0;
      }
      response.writeHead(200, { ...reply.headers, 'content-length': Buffer.byteLength(reply.body) });
      response.end(reply.body);
    } catch (error) {
      report.refused += 1;
      report.problems = [...report.problems, String(error)].slice(0, 5);
      response.writeHead(401);
      response.end();
    } finally {
      endIfDone();
    }
  });
});

function endIfDone() {
  if (report.frames >= count) {
    finish(report);
    server.close();
    server.closeIdleConnections?.();
    setTimeout(() => process.exit(0), 500);
  }
}
server.listen(0, '127.0.0.1', () => finish({ port: server.address().port }));
