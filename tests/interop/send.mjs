// An independent sender: posts signed frames to ackbox, one by one and in batches, verifies each answer, and then tries
// what must be refused.
//
//   node send.mjs PORT COUNT    secrets in ACKBOX_INTEROP_SECRET and ACKBOX_INTEROP_OLD_SECRET; prints one line of JSON
import http from 'node:http';
import { CloudEvent, HTTP } from 'cloudevents';
import { conform, finish, refusedByLibraries, signed, verify } from './peer.mjs';
import { tamperings } from './tamper.mjs';

const secret = process.env.ACKBOX_INTEROP_SECRET;
const oldSecret = process.env.ACKBOX_INTEROP_OLD_SECRET;
const [port, count] = [Number(process.argv[2]), Number(process.argv[3])];
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
const source = 'urn:agent:node';
const report = { accepted: 0, refused: 0, tampered: 0, tamperedRefused: 0, problems: [] };

function post(headers, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method: 'POST', path: '/inbox', agent, headers }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString('utf8') }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

function frame(number) {
  const event = new CloudEvent({ id: `n-${number}`, source, type: 'com.example.node', datacontenttype: 'application/json', data: { number } });
  return HTTP.structured(event).body;
}

async function expectAcks(response, ids, requestId) {
  if (response.status !== 200) {
    throw new Error(`status ${response.status}: ${response.body.slice(0, 200)}`);
  }
  verify(secret, response.body, response.headers);
  if (response.headers['webhook-id'] !== `re_${requestId}`) {
    throw new Error(`the answer is signed for ${response.headers['webhook-id']}`);
  }
  const document = JSON.parse(response.body);
  conform('ack', document);
  document.results.forEach((result, index) => {
    if (result.id !== ids[index] || result.outcome !== 'ack') {
      throw new Error(`result ${JSON.stringify(result)} for ${ids[index]}`);
    }
  });
  report.accepted += ids.length;
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    report.refused += 1;
    report.problems = [...report.problems, String(error)].slice(0, 5);
  }
}

const singles = Math.floor(count * 0.8);
let next = 0;
async function sendSingles() {
  while (next < singles) {
    const number = next++;
    const body = frame(number);
    const id = `n-${number}`;
    // One in three as during a rotation: with the old key only.
    const headers = signed(number % 3 === 0 ? oldSecret : secret, id, 'application/cloudevents+json', body);
    await attempt(async () => expectAcks(await post(headers, body), [id], id));
  }
}
await Promise.all([sendSingles(), sendSingles(), sendSingles(), sendSingles()]);
for (let number = singles; number < count; number += 100) {
  const ids = Array.from({ length: Math.min(100, count - number) }, (_, index) => `n-${number + index}`);
  const body = `[${ids.map((_, index) => frame(number + index)).join(',')}]`;
  const id = `batch-${number}`;
  const headers = signed(secret, id, 'application/cloudevents-batch+json', body);
  await attempt(async () => expectAcks(await post(headers, body), ids, id));
}

// The emitter of the cloudevents package, in binary mode: JSON, a text, and bytes; such as are UTF-8, as the
// signing library knows no others.
const binaries = Math.floor(count / 10);
for (let number = 0; number < binaries; number += 1) {
  const id = `b-${number}`;
  const forms = [
    { datacontenttype: 'application/json', data: { number, text: 'na\u00efve \u2713' } },
    { datacontenttype: 'text/plain', data: `number ${number}` },
    { datacontenttype: 'application/octet-stream', data: Uint8Array.from([number & 127, 0, 9]) },
  ];
  const message = HTTP.binary(new CloudEvent({ id, source, type: 'com.example.binary', subject: 'kept', ...forms[number % 3] }));
  const body = Buffer.from(message.body);
  const date = new Date();
  const headers = { ...message.headers, ...signed(secret, id, message.headers['content-type'], body, date) };
  await attempt(async () => expectAcks(await post(headers, body), [id], id));
}

// What must be refused, each a change of a request that would be accepted. Both judges must say no: ackbox, by its
// status, and the libraries, by throwing.
for (const [what, change] of tamperings(secret)) {
  const request = { id: `t-${report.tampered}`, type: 'application/cloudevents+json' };
  request.body = frame(`9${report.tampered}`).replace(/n-9\d+/, request.id);
  request.headers = signed(secret, request.id, request.type, request.body);
  change(request);
  delete request.headers['content-length'];
  report.tampered += 1;
  const librariesRefuse = refusedByLibraries(secret, request.body, request.headers);
  const response = await post({ ...request.headers, 'content-length': Buffer.byteLength(request.body) }, request.body);
  if (librariesRefuse && response.status === 401) {
    conform('problem', JSON.parse(response.body));
    report.tamperedRefused += 1;
  } else {
    report.problems.push(`${what}: status ${response.status}, the libraries ${librariesRefuse ? 'refuse' : 'accept'}`);
  }
}
agent.destroy();
finish(report);
