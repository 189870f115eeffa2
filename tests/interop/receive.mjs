// An independent receiver: takes requests of ackbox, verifies them with other people's libraries and answers ACKs.
//
//   node receive.mjs SECRET COUNT    prints {"port":N}, then, after COUNT frames, {"frames":…,"requests":…,"refused":…}
import http from 'node:http';
import { HTTP } from 'cloudevents';
import { conform, finish, sign, verify } from './peer.mjs';

const [secret, count] = [process.env.ACKBOX_INTEROP_SECRET, Number(process.argv[2])];
const report = { frames: 0, requests: 0, batches: 0, refused: 0, outOfOrder: 0, problems: [] };
const last = new Map();

function answer(request, body) {
  verify(secret, body, request.headers);
  const batch = request.headers['content-type'] === 'application/cloudevents-batch+json';
  const document = JSON.parse(body);
  conform(batch ? 'batch' : 'frame', document);
  const events = [HTTP.toEvent({ headers: request.headers, body })].flat();
  for (const event of events) {
    event.validate();
    const lane = `${event.sessionorigin} ${event.sessionid}`;
    if (BigInt(event.sessionseq) !== (last.get(lane) ?? 0n) + 1n) {
      report.outOfOrder += 1;
    }
    last.set(lane, BigInt(event.sessionseq));
  }
  report.batches += batch ? 1 : 0;
  report.frames += events.length;
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
      const text = JSON.stringify(answer(request, body));
      const id = `re_${request.headers['webhook-id']}`;
      const now = new Date();
      response.writeHead(200, {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': sign(secret, id, now, text),
      });
      response.end(text);
    } catch (error) {
      report.refused += 1;
      report.problems = [...report.problems, String(error)].slice(0, 5);
      response.writeHead(401);
      response.end();
    }
    if (report.frames >= count) {
      finish(report);
      server.close();
      server.closeIdleConnections?.();
      setTimeout(() => process.exit(0), 500);
    }
  });
});
server.listen(0, '127.0.0.1', () => finish({ port: server.address().port }));
