// An independent sender: posts signed frames to ackbox, one by one and in batches, verifies each answer, and then tries
// what must be refused.
//
//   node send.mjs PORT COUNT    secrets in ACKBOX_INTEROP_SECRET and ACKBOX_INTEROP_OLD_SECRET; prints one line of JSON
import http from 'node:http';
import { CloudEvent, HTTP } from 'cloudevents';
import { conform, finish, sign, verify } from './peer.mjs';

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

function signed(key, id, type, body, date = new Date()) {
  return {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(date.getTime() / 1000)),
    'webhook-signature': sign(key, id, date, body),
  };
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

// What must be refused, each a change of a request that would be accepted. Both judges must say no: ackbox, by its
// status, and the libraries, by throwing.
const seconds = (date) => String(Math.floor(date.getTime() / 1000));
const flip = (text, at) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
const hours = (count) => new Date(Date.now() + count * 3600e3);
const tamper = [
  ['a byte of the body changed', (r) => { r.body = r.body.replace('"number":', '"nunber":'); }],
  ['a space added at the end', (r) => { r.body += ' '; }],
  ['a line end added at the end', (r) => { r.body += '\n'; }],
  ['a space added in front', (r) => { r.body = ` ${r.body}`; }],
  ['the last byte missing', (r) => { r.body = r.body.slice(0, -1); }],
  ['the first byte missing', (r) => { r.body = r.body.slice(1); }],
  ['the body empty', (r) => { r.body = ''; }],
  ['the body twice', (r) => { r.body += r.body; }],
  ['another body', (r) => { r.body = frame(999999); }],
  ['the id changed', (r) => { r.headers['webhook-id'] += 'x'; }],
  ['the id shortened', (r) => { r.headers['webhook-id'] = r.headers['webhook-id'].slice(1); }],
  ['the id missing', (r) => { delete r.headers['webhook-id']; }],
  ['the id empty', (r) => { r.headers['webhook-id'] = ''; }],
  ['the timestamp one second later', (r) => { r.headers['webhook-timestamp'] = String(Number(r.headers['webhook-timestamp']) + 1); }],
  ['the timestamp one second earlier', (r) => { r.headers['webhook-timestamp'] = String(Number(r.headers['webhook-timestamp']) - 1); }],
  ['the timestamp missing', (r) => { delete r.headers['webhook-timestamp']; }],
  ['the timestamp not a number', (r) => { r.headers['webhook-timestamp'] = 'soon'; }],
  ['signed an hour ago', (r) => { r.headers = signed(secret, r.id, r.type, r.body, hours(-1)); }],
  ['signed an hour ahead', (r) => { r.headers = signed(secret, r.id, r.type, r.body, hours(1)); }],
  ['an old signature under a new timestamp', (r) => { r.headers = { ...signed(secret, r.id, r.type, r.body, hours(-1)), 'webhook-timestamp': seconds(new Date()) }; }],
  ['the signature missing', (r) => { delete r.headers['webhook-signature']; }],
  ['the signature empty', (r) => { r.headers['webhook-signature'] = ''; }],
  ['a bit of the signature flipped', (r) => { r.headers['webhook-signature'] = flip(r.headers['webhook-signature'], 10); }],
  ['the signature cut', (r) => { r.headers['webhook-signature'] = r.headers['webhook-signature'].slice(0, -8); }],
  ['the signature without its version', (r) => { r.headers['webhook-signature'] = r.headers['webhook-signature'].slice(3); }],
  ['the signature of an unknown version', (r) => { r.headers['webhook-signature'] = r.headers['webhook-signature'].replace('v1,', 'v2,'); }],
  ['only the version', (r) => { r.headers['webhook-signature'] = 'v1,'; }],
  ['signed with another secret', (r) => { r.headers = signed('whsec_c29tZWJvZHkgZWxzZXMgc2VjcmV0IGtleSEhISE=', r.id, r.type, r.body); }],
  ['the signature of an answer', (r) => { r.headers = { ...signed(secret, `re_${r.id}`, r.type, r.body), 'webhook-id': r.id }; }],
  ['the signature of another id', (r) => { r.headers = { ...signed(secret, 'another', r.type, r.body), 'webhook-id': r.id }; }],
];
for (const [what, change] of tamper) {
  const request = { id: `t-${report.tampered}`, type: 'application/cloudevents+json' };
  request.body = frame(`9${report.tampered}`).replace(/n-9\d+/, request.id);
  request.headers = signed(secret, request.id, request.type, request.body);
  change(request);
  delete request.headers['content-length'];
  report.tampered += 1;
  let librariesRefuse = false;
  try {
    verify(secret, request.body, request.headers);
  } catch {
    librariesRefuse = true;
  }
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
