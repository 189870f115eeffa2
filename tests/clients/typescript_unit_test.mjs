// Goal: the TypeScript client alone, as its package has it: marks, signatures, and what it does with each answer.
// Method: node's test runner; a scripted HTTP server; a database in memory that speaks the statements of the marks.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as ackbox from 'ackbox';
import { SqliteBridge } from './sqlite_bridge.mjs';

const sessionEvent = (sequence, origin = 'o1') =>
  new ackbox.Event({ id: `m${sequence}`, source: 'urn:agent:alice', type: 't', sessionid: 's', sessionorigin: origin, sessionseq: String(sequence) });
const loneEvent = (id) => new ackbox.Event({ id, source: 'urn:agent:alice', type: 't' });

const effect = async (transaction, event) => {
  await transaction.run('INSERT INTO effects(id) VALUES (?)', [event.id]);
  return { done: event.id };
};

async function withDatabase(work) {
  const database = new SqliteBridge(':memory:');
  try {
    await database.transaction((transaction) => transaction.run('CREATE TABLE effects(id TEXT)', []));
    await ackbox.createMarks(database);
    const effects = () =>
      database.transaction(async (transaction) => (await transaction.get('SELECT group_concat(id) AS ids FROM effects', []))?.ids);
    await work(database, effects);
  } finally {
    await database.close();
  }
}

test('an event says which message an operator sends again', () => {
  assert.equal(loneEvent('a').resentOf, undefined);
  assert.equal(new ackbox.Event({ id: 'b', source: 'urn:agent:alice', resentof: 'a' }).resentOf, 'a');
});

test('a repetition changes nothing and has the same result, in a session and outside', () =>
  withDatabase(async (database, effects) => {
    for (const event of [sessionEvent(1), loneEvent('a')]) {
      assert.deepEqual(await ackbox.apply(database, event, effect), { isNew: true, result: { done: event.id } });
      assert.deepEqual(await ackbox.apply(database, event, effect), { isNew: false, result: { done: event.id } });
    }
    assert.equal(await effects(), 'm1,a');
    assert.equal(await ackbox.forgetIds(database, 3_600_000), 0);
    assert.equal(await ackbox.forgetIds(database, -3_600_000), 1);
  }));

test('an older number is a duplicate, and a sender with another store begins anew', () =>
  withDatabase(async (database, effects) => {
    await ackbox.apply(database, sessionEvent(1), effect);
    await ackbox.apply(database, sessionEvent(5), () => undefined);
    assert.deepEqual(await ackbox.apply(database, sessionEvent(5), effect), { isNew: false, result: undefined });
    assert.deepEqual(await ackbox.apply(database, sessionEvent(2), effect), { isNew: false, result: undefined });
    assert.equal((await ackbox.apply(database, sessionEvent(1, 'o2'), effect)).isNew, true);
    assert.equal(await effects(), 'm1,m1');
  }));

test('what the effect throws undoes effect and mark', () =>
  withDatabase(async (database, effects) => {
    for (const event of [sessionEvent(1), loneEvent('a')]) {
      const fails = async (transaction) => {
        await effect(transaction, event);
        throw new RangeError('no such item');
      };
      await assert.rejects(ackbox.apply(database, event, fails), RangeError);
      assert.equal(await effects(), null);
    }
    assert.equal((await ackbox.apply(database, sessionEvent(1), effect)).isNew, true);
  }));

test('an effect that ends the transaction is a warning, and does not happen again', () =>
  withDatabase(async (database, effects) => {
    const commits = async (transaction, event) => {
      const result = await effect(transaction, event);
      await transaction.run('COMMIT', []);
      return result;
    };
    const writesAgain = async (transaction, event) => {
      await commits(transaction, event);
      await transaction.run('BEGIN', []);
      return effect(transaction, event);
    };
    const rollsBack = async (transaction, event) => {
      await transaction.run('ROLLBACK', []);
      return effect(transaction, event);
    };
    for (const [n, ends] of [commits, writesAgain, rollsBack].entries()) {
      for (const event of [sessionEvent(n + 1), loneEvent(`lone ${n}`)]) {
        const warnings = await warningsOf(async () => {
          assert.deepEqual(await ackbox.apply(database, event, ends), { isNew: true, result: { done: event.id } });
          const before = await effects();
          assert.deepEqual(await ackbox.apply(database, event, ends), { isNew: false, result: { done: event.id } });
          assert.equal(await effects(), before);
        });
        assert.equal(warnings.length, 1, ends.name);
        assert.match(warnings[0], /ended the transaction that apply commits/);
      }
    }
  }));

test('an effect that throws behind its own commit is a warning, and does not happen again', () =>
  withDatabase(async (database, effects) => {
    for (const event of [sessionEvent(1), loneEvent('a')]) {
      const fails = async (transaction) => {
        await effect(transaction, event);
        await transaction.run('COMMIT', []);
        throw new RangeError('late');
      };
      const warnings = await warningsOf(() => assert.rejects(ackbox.apply(database, event, fails), RangeError));
      assert.match(warnings.join(), /threw behind its own commit/);
      assert.equal((await ackbox.apply(database, event, fails)).isNew, false);
    }
    assert.equal(await effects(), 'm1,a');
    const givesUp = async (transaction) => {
      await transaction.run('ROLLBACK', []);
      throw new RangeError('nothing was done');
    };
    assert.deepEqual(await warningsOf(() => assert.rejects(ackbox.apply(database, sessionEvent(2), givesUp), RangeError)), []);
    assert.equal((await ackbox.apply(database, sessionEvent(2), effect)).isNew, true);
  }));

const cyclic = [];
cyclic.push(cyclic);
const nested = (depth) => Array(depth).fill().reduce((inner) => [inner], 1);
const refusedValues = {
  NaN: Number.NaN,
  Infinity: [-Infinity],
  'a bigint': { a: 1n },
  'undefined in an array': [undefined],
  'a hole': [1, , 2],
  'a function': () => 1,
  'a symbol': Symbol('s'),
  'a key that is a symbol': { [Symbol('s')]: 1 },
  'a date': new Date(0),
  'a map': new Map([[1, 2]]),
  'a set': new Set([1]),
  bytes: new Uint8Array(2),
  'a class': new (class Order {})(),
  'a number object': Object(1),
  cyclic,
  'too deep': nested(64),
  'half a surrogate pair': ['a\ud800'],
  'half a surrogate pair in a key': { '\udc00': 1 },
  'an undefined member': { a: undefined },
  'an array with members': Object.assign([1], { total: 1 }),
};

test('a result that JSON cannot hold is refused before the effect commits', () =>
  withDatabase(async (database, effects) => {
    for (const [name, result] of Object.entries({ ...refusedValues, 'too large': 'a'.repeat(65_536), deep: nested(60) })) {
      const returns = async (transaction, event) => {
        await effect(transaction, event);
        return result;
      };
      await assert.rejects(ackbox.apply(database, sessionEvent(1), returns), TypeError, name);
      assert.equal(await effects(), null);
    }
    for (const [n, result] of ['\0', 'ä\u2028😀', 5e-324, { '': [{}] }, false, 'a'.repeat(65_534)].entries()) {
      for (const isNew of [true, false]) {
        assert.deepEqual(await ackbox.apply(database, sessionEvent(n + 1), () => result), { isNew, result });
      }
    }
  }));

test('parameters are written as the driver wants them', async () => {
  const statements = [];
  const transaction = { run: (sql) => (statements.push(sql), 1), get: () => undefined };
  const database = { parameters: '$1', transaction: (work) => work(transaction) };
  await ackbox.apply(database, sessionEvent(1), () => 'result');
  assert.match(statements[0], /VALUES \(\$1, \$2, \$3, \$4\)/);
  assert.match(statements[1], /SET result = \$1 WHERE source = \$2 AND origin = \$3 AND session = \$4 AND sequence = \$5/);
});

test('a sequence keeps its 64 bits', () => {
  assert.equal(sessionEvent('9223372036854775807').sequence, 9223372036854775807n);
});

const key = Buffer.alloc(32, 'k');
const body = '{"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"t","data":{"n":1}}';
const signed = ({ id = 'm1', timestamp = '1000', content = body, secret = key } = {}) => ({
  'Webhook-Id': id,
  'webhook-timestamp': timestamp,
  'webhook-signature': `v1a,xyz v1,bm8= v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${content}`).digest('base64')}`,
});
const secret = `whsec_${key.toString('base64')}`;

test('a signed request is an event, with headers of node and of fetch', () => {
  const other = `whsec_${Buffer.alloc(32, 'n').toString('base64')}`;
  for (const headers of [signed(), new Headers(signed())]) {
    const event = ackbox.verifyWebhook([other, secret], headers, Buffer.from(body), { now: 1_299_000 });
    assert.deepEqual([event.id, event.data, event.sequence], ['m1', { n: 1 }, 0n]);
  }
});

test('what is refused', () => {
  const good = signed();
  const cases = {
    'another body': [good, body.replace('1}', '2}'), 1000],
    'too old': [good, body, 1301],
    'of the future': [good, body, 699],
    'another key': [signed({ secret: Buffer.alloc(32, 'x') }), body, 1000],
    'another id': [{ ...good, 'Webhook-Id': 'm2' }, body, 1000],
    'no headers': [{}, body, 1000],
    'a timestamp that is no number': [{ ...good, 'webhook-timestamp': '1e3' }, body, 1000],
    'another version': [{ ...good, 'webhook-signature': good['webhook-signature'].replaceAll('v1,', 'v2,') }, body, 1000],
    'no event': [signed({ content: '[]' }), '[]', 1000],
  };
  for (const [name, [headers, content, now]] of Object.entries(cases)) {
    assert.throws(() => ackbox.verifyWebhook(secret, headers, content, { now: now * 1000 }), ackbox.SignatureInvalid, name);
  }
  for (const wrong of ['', 'whsec_', 'whsec_#']) {
    assert.throws(() => ackbox.verifyWebhook(wrong, good, body, { now: 1_000_000 }), TypeError);
  }
});

/** Answers in order: [status, headers, body], or null to close the connection without one. Keeps the requests. */
async function withScript(answers, options, work) {
  const requests = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
      const answer = answers.shift();
      if (!answer) {
        request.socket.destroy();
        return;
      }
      response.writeHead(answer[0], answer[1]);
      response.end(answer[2]);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new ackbox.Client(`http://127.0.0.1:${server.address().port}/`, options);
  try {
    await work(client, requests);
  } finally {
    client.close();
    server.close();
    server.closeAllConnections?.();
  }
}
const problem = (status, title, detail = '', headers = {}) => [status, headers, JSON.stringify({ title, detail })];
const stored = () => [201, {}, '{"status":"stored","message_id":"m1","sequence":3}'];

test('an enqueue is tried again with the same key after a lost answer', () =>
  withScript([null, problem(503, 'Busy'), problem(507, 'Full'), stored()], { token: 't'.repeat(24) }, async (client, requests) => {
    const result = await client.enqueue('bob', 't', { ä: 1 }, { session: 's', notBefore: 5 });
    assert.deepEqual(result, { status: 'stored', id: 'm1', sequence: 3, detail: '', isAccepted: true });
    assert.equal(requests.length, 4);
    assert.equal(new Set(requests.map((request) => request.body)).size, 1);
    const { idempotency_key: made, ...message } = JSON.parse(requests[0].body);
    assert.ok(made.length >= 32);
    assert.deepEqual(message, { peer: 'bob', type: 't', data: { ä: 1 }, session: 's', not_before_ms: 5 });
    assert.equal(requests[0].headers.authorization, `Bearer ${'t'.repeat(24)}`);
  }));

test('an instant is a date or milliseconds, and an invalid date is refused', () =>
  withScript([stored(), [200, {}, '{"results":[]}']], {}, async (client, requests) => {
    const expiresAt = new Date('2026-02-01T04:59:59.999Z');
    await client.enqueue('bob', 't', null, { notBefore: 5, expiresAt });
    await client.enqueueMany([{ peer: 'bob', type: 't', notBefore: expiresAt }]);
    const [one, [many]] = requests.map((request) => JSON.parse(request.body));
    assert.deepEqual([one.not_before_ms, one.expires_at_ms, many.not_before_ms], [5, 1_769_921_999_999, 1_769_921_999_999]);
    for (const name of ['notBefore', 'expiresAt']) {
      await assert.rejects(client.enqueue('bob', 't', null, { [name]: new Date('soon') }), (error) =>
        error instanceof TypeError && error.message.startsWith(`${name} is an invalid Date: `));
    }
    assert.equal(requests.length, 2);
  }));

test('an option that is misspelt or of a wrong type is refused, and nothing is sent', () =>
  withScript([], {}, async (client, requests) => {
    const url = 'http://127.0.0.1:1';
    for (const [options, beginning] of [
      [{ sesion: 'x' }, 'enqueue has no option "sesion": did you mean "session"?'],
      [{ idempotency_key: 'x' }, 'enqueue has no option "idempotency_key": did you mean "idempotencyKey"?'],
      [{ toString: 'x' }, 'enqueue has no option "toString": it has session, idempotencyKey, '],
      [{ session: 7 }, 'session must be a string, not 7'], [{ session: null }, 'session must be a string, not null'],
      [{ priority: '1' }, 'priority must be a whole number, not string'], [{ priority: 1.5 }, 'priority must be a whole number, not 1.5'],
      [{ notBefore: 'soon' }, 'notBefore must be a Date, or whole milliseconds since 1970, not string'],
      [{ expiresAt: Number.NaN }, 'expiresAt must be a Date, or whole milliseconds since 1970, not NaN'],
      ['orders', 'enqueue takes its options as an object, not as string'], [null, 'enqueue takes its options as an object, not as null'],
    ]) {
      await assert.rejects(client.enqueue('bob', 't', 1, options), (error) => error instanceof TypeError && error.message.startsWith(beginning), beginning);
    }
    const frame = new ackbox.Frame(loneEvent('m').raw, 'r', 1);
    for (const [call, beginning] of [
      [() => client.enqueue(undefined, 't'), 'peer must be a string, not undefined'], [() => client.enqueue('bob', 7), 'type must be'],
      [() => client.enqueueMany([{ peer: 'bob', type: 't' }, { peer: 'bob', tyep: 't' }]), 'messages[1] has no option "tyep": did you mean "type"?'],
      [() => client.enqueueMany(['bob']), 'messages[0] takes its options as an object'],
      [() => client.receive('order.*').next(), 'receive takes its options as an object, not as string'],
      [() => client.receive({ type: 'order.*' }).next(), 'receive has no option "type": did you mean "types"?'],
      [() => client.receive({ types: ['a', 'b'] }).next(), 'types must be a string, not object'],
      [() => client.receive({ window: '5' }).next(), 'window must be a whole number'], [() => client.receive({ signal: {} }).next(), 'signal must be'],
      [() => client.message(7), 'id must be a string'], [() => client.message('m', { wait: '5s' }), 'wait must be a number'],
      [() => client.message('m', 5000), 'message takes its options as an object, not as 5000'],
      [() => frame.retry({ after: 5 }), 'reason must be a string, not object'], [() => frame.retry('a', '5s'), 'after must be a number'],
      [() => frame.reject(new RangeError('a')), 'reason must be a string, not object'],
      [async () => new ackbox.Client(url, 'token'), 'Client takes its options as an object'],
      [async () => new ackbox.Client(url, { retryfor: 5 }), 'Client has no option "retryfor": did you mean "retryFor"?'],
      [async () => new ackbox.Client(url, { timeout: '5' }), 'timeout must be a number, not string'],
      [async () => ackbox.verifyWebhook(secret, {}, '', { tolerence: 5 }), 'verifyWebhook has no option "tolerence": did you mean "tolerance"?'],
    ]) {
      await assert.rejects(call(), (error) => error instanceof TypeError && error.message.startsWith(beginning), beginning);
    }
    assert.equal(requests.length, 0);
  }));

test('each refusal has its type and the text of the problem', async () => {
  const types = {
    400: 'ProblemError', 401: 'Unauthenticated', 403: 'Forbidden', 404: 'NotFound', 409: 'Conflict', 413: 'TooLarge', 422: 'Invalid',
  };
  for (const [status, type] of Object.entries(types)) {
    await withScript([problem(Number(status), 'Refused', 'because')], {}, async (client, requests) => {
      await assert.rejects(client.enqueue('bob', 't'), (error) =>
        error instanceof ackbox[type] && error.name === type && error.message === `${status} Refused: because`);
      assert.equal(requests.length, 1);
    });
  }
});

test('what does not pass in time is thrown', async () => {
  await withScript([problem(429, 'Queue full', '', { 'retry-after': '9' })], { retryFor: 1000 }, (client) =>
    assert.rejects(client.enqueue('bob', 't'), (error) => error instanceof ackbox.QueueFull && error.retryAfter === 9000));
  await assert.rejects(new ackbox.Client('http://127.0.0.1:1', { retryFor: 0 }).stats(), ackbox.Unreachable);
});

/** The warnings of the client during `work`. */
async function warningsOf(work) {
  const warnings = [];
  const listener = (warning) => warnings.push(warning);
  process.on('warning', listener);
  try {
    await work();
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('warning', listener);
  }
  return warnings.map((warning) => warning.message);
}

test('the first failure of a connection is a warning with address, cause and remedy', async () => {
  const client = new ackbox.Client('http://127.0.0.1:1');
  process.once('warning', () => client.close());
  const warnings = await warningsOf(() => assert.rejects(client.stats(), /the client was closed/));
  assert.equal(warnings.length, 1, warnings.join('\n'));
  // Node names the port as bad, or nothing listens there.
  assert.match(warnings[0], /^http:\/\/127\.0\.0\.1:1 does not answer: .+; .+; it is tried again, and the failures after it are not logged$/);
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  await new Promise((resolve) => server.close(resolve));
  const once = () => assert.rejects(new ackbox.Client(url, { retryFor: 0 }).stats(), (error) =>
    error instanceof ackbox.Unreachable && error.message.endsWith('; nothing listens there: start the daemon (ackbox serve), or correct the address'));
  assert.deepEqual(await warningsOf(once), []);
  const outages = await warningsOf(() => withScript([null, null, stored(), null, null, stored()], {}, async (client) => {
    await client.enqueue('bob', 't');
    await client.enqueue('bob', 't');
  }));
  assert.equal(outages.length, 2);
});

test('the first failure of a stream and of a settlement is a warning', async () => {
  const warnings = await warningsOf(() => withScript([null, null, [200, {}, frameLine()], null, null, null, null], {}, async (client) => {
    const received = client.receive();
    const frame = (await received.next()).value;
    assert.equal(await frame.ack(), false);
    await received.return();
  }));
  assert.equal(warnings.length, 2);
  assert.match(warnings[0], /^http:.* does not answer: /);
});

test('a wait that is refused waits as long as it is told, and then only looks', () =>
  withScript(
    [problem(503, 'Too many requests wait', '', { 'retry-after': '1' }), [200, {}, '{"message_id":"m1","state":"pending"}']], {},
    async (client, requests) => {
      const begin = performance.now();
      assert.equal((await client.message('m1', { wait: 200 })).state, 'pending');
      assert.ok(performance.now() - begin >= 990);
      assert.equal(requests.length, 2);
      assert.notEqual(requests[0].url, '/v1/messages/m1?wait=0ms');
      assert.equal(requests[1].url, '/v1/messages/m1?wait=0ms');
    }));

test('many are answered one by one', () =>
  withScript([[207, {}, '{"results":[{"status":"stored","message_id":"a","sequence":1},{"status":"queueFull","detail":"full"}]}']], {},
    async (client, requests) => {
      const results = await client.enqueueMany([{ peer: 'bob', type: 't' }, { peer: 'bob', type: 'u' }]);
      assert.deepEqual(results.map((result) => result.isAccepted), [true, false]);
      const sent = JSON.parse(requests[0].body);
      assert.equal(new Set(sent.map((message) => message.idempotency_key)).size, 2);
      // The daemon has one default session for all ways to enqueue.
      assert.ok(sent.every((message) => !('session' in message)));
    }));

const line = `${JSON.stringify({ receipt: 'r1', run: 2, event: sessionEvent(4).raw })}\n`;

test('a stream that ends is opened again, and half a line is no frame', () =>
  withScript(
    [[200, {}, `\n${line}${line.slice(0, 20)}`], problem(503, 'Too many streams'), [200, {}, line], [200, {}, '{"results":[{"receipt":"r1","status":"gone"}]}']],
    {},
    async (client, requests) => {
      const received = client.receive({ types: 'order.*', sessions: 's', window: 5 });
      const first = (await received.next()).value;
      assert.deepEqual([first.sequence, first.run, first.session], [4n, 2, 's']);
      const second = (await received.next()).value;
      assert.equal(await second.retry('later', 1500), false);
      await received.return();
      assert.deepEqual(requests.map((request) => request.url), [
        ...Array(3).fill('/v1/inbox/stream?window=5&types=order.*&sessions=s'), '/v1/inbox/settle']);
      assert.deepEqual(JSON.parse(requests[3].body), {
        settlements: [{ receipt: 'r1', outcome: 'retry', reason: 'later', after: '1500ms' }] });
    }));

test('a stream is asked for again after what the daemon says, and while a proxy has none', () =>
  withScript(
    [problem(503, 'Too many streams', '', { 'retry-after': '1' }), [502, {}, '<html>'], [200, {}, line],
      problem(503, 'Busy', '', { 'retry-after': '1' }), [504, {}, '<html>'], [200, {}, '{"results":[{"receipt":"r1","status":"settled"}]}']],
    {},
    async (client, requests) => {
      let begin = performance.now();
      const received = client.receive();
      const frame = (await received.next()).value;
      assert.ok(performance.now() - begin >= 990);
      begin = performance.now();
      assert.equal(await frame.ack(), true);
      assert.ok(performance.now() - begin >= 990);
      assert.equal(requests.length, 6);
      await received.return();
    }));

test('a refused stream is thrown with the reason', async () => {
  for (const [status, type] of Object.entries({ 401: 'Unauthenticated', 403: 'Forbidden', 404: 'NotFound', 422: 'Invalid' })) {
    await withScript([problem(Number(status), 'Refused', 'because')], {}, async (client, requests) => {
      await assert.rejects(client.receive().next(), (error) =>
        error instanceof ackbox[type] && error.message === `${status} Refused: because`);
      assert.equal(requests.length, 1);
    });
  }
});

test('a frame whose settlement does not arrive ends its stream', () =>
  withScript([[200, {}, line], null, null, null, null, [200, {}, line]], {}, async (client, requests) => {
    const received = client.receive();
    assert.equal(await (await received.next()).value.ack({ a: 1 }), false);
    await received.next();
    await received.return();
    assert.deepEqual(requests.map((request) => request.method), ['GET', 'POST', 'POST', 'POST', 'POST', 'GET']);
  }));

test('many frames are acknowledged in one request, and each is answered', () => {
  const lines = [0, 1, 2].map((n) => `${JSON.stringify({ receipt: `r${n}`, run: 1, event: loneEvent(`m${n}`).raw })}\n`).join('');
  const results = ['settled', 'gone', 'settled'].map((status, n) => ({ receipt: `r${n}`, status }));
  return withScript([[200, {}, lines], problem(503, 'Busy'), [200, {}, JSON.stringify({ results })]], {}, async (client, requests) => {
    const received = client.receive();
    const held = [];
    for (let n = 0; n < 3; ++n) {
      held.push((await received.next()).value);
    }
    await assert.rejects(client.ackMany(held, [1]), /3 frames and 1 results/);
    await assert.rejects(client.ackMany(held, [1, 2, 3n]), TypeError);
    assert.deepEqual(await client.ackMany([]), []);
    assert.equal(requests.length, 1);
    assert.deepEqual(await client.ackMany(held, [{ a: 1 }, undefined, 'text']), [true, false, true]);
    await received.return();
    assert.deepEqual(JSON.parse(requests[2].body), {
      settlements: [{ receipt: 'r0', outcome: 'ack', result: { a: 1 } }, { receipt: 'r1', outcome: 'ack' },
        { receipt: 'r2', outcome: 'ack', result: 'text' }] });
  });
});

test('more frames than a request takes are acknowledged in several', async () => {
  const results = (count) => [200, {}, JSON.stringify({ results: Array(count).fill({ status: 'settled' }) })];
  for (const [of, counts] of [[Array(100).fill('x'.repeat(60_000)), [70, 30]], [Array(1_025).fill(undefined), [1_024, 1]]]) {
    const ended = [];
    const held = of.map(() => new ackbox.Frame(loneEvent('m').raw, 'r', 1, { ended: (isLost) => ended.push(isLost) }));
    await withScript(counts.map(results), {}, async (client, requests) => {
      assert.deepEqual(await client.ackMany(held, of), Array(of.length).fill(true));
      assert.deepEqual(requests.map((request) => JSON.parse(request.body).settlements.length), counts);
      assert.deepEqual(ended, Array(of.length).fill(false));
    });
  }
});

test('many frames whose settlement does not arrive end their stream', () =>
  withScript([[200, {}, line], null, null, null, null, [200, {}, line]], {}, async (client, requests) => {
    const received = client.receive();
    const frame = (await received.next()).value;
    const work = async () => {
      const ended = [];
      const other = new ackbox.Frame(loneEvent('m').raw, 'r2', 1, { ended: (isLost) => ended.push(isLost) });
      assert.deepEqual(await client.ackMany([frame, other]), [false, false]);
      assert.deepEqual(ended, [true]);
      throw new RangeError('after');
    };
    await assert.rejects(frame.attempt(work), RangeError);
    await received.next();
    await received.return();
    assert.deepEqual(requests.map((request) => request.method), ['GET', 'POST', 'POST', 'POST', 'POST', 'GET']);
  }));

test('a stream whose reads do not end with its signal is given up all the same, and another is opened', async (context) => {
  let streams = 0;
  context.mock.method(globalThis, 'fetch', async (url) => {
    if (!String(url).includes('/stream')) {
      throw new TypeError('fetch failed');
    }
    streams += 1;
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(frameLine())) });
    return new Response(body, { status: 200 });
  });
  const client = new ackbox.Client('http://127.0.0.1:1');
  for await (const frame of client.receive()) {
    if (streams === 2) {
      break;
    }
    assert.equal(await frame.ack(), false);
  }
});

test('close and an aborted signal end a receiver', async () => {
  await withScript([], {}, async (client) => {
    const next = client.receive().next();
    client.close();
    assert.equal((await next).done, true);
  });
  await withScript([], {}, async (client) => {
    const stop = new AbortController();
    const next = client.receive({ signal: stop.signal }).next();
    stop.abort();
    assert.equal((await next).done, true);
  });
});

test('the program learns how it was called', () => {
  const folder = mkdtempSync(join(tmpdir(), 'a folder'));
  try {
    const modules = join(folder, 'node_modules');
    cpSync('node_modules/ackbox', join(modules, 'ackbox'), { recursive: true });
    const platform = join(modules, `ackbox-${process.platform}-${process.arch}`);
    mkdirSync(join(platform, 'program', 'bin'), { recursive: true });
    writeFileSync(join(platform, 'package.json'), '{}');
    writeFileSync(join(platform, 'program', 'bin', 'ackbox'), '#!/bin/sh\necho "$ACKBOX_CALLED_AS $*"\n', { mode: 0o755 });
    mkdirSync(join(modules, '.bin'));
    const script = join(modules, '.bin', 'ackbox');
    symlinkSync('../ackbox/bin/ackbox.js', script);
    const { npm_command: _, ...plain } = process.env;
    const call = (environment) =>
      execFileSync(process.execPath, [script, 'init'], { env: { ...plain, ...environment }, encoding: 'utf8' });
    assert.equal(call({}), `'${script}' init\n`);
    assert.equal(call({ PATH: `${join(modules, '.bin')}:${plain.PATH}` }), 'ackbox init\n');
    assert.equal(call({ npm_command: 'exec' }), 'npx ackbox init\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('URLs that are none', () => {
  for (const url of ['unix:/run/s.sock', 'ftp://a', 'nothing', 'http://user:password@localhost']) {
    assert.throws(() => new ackbox.Client(url), TypeError);
  }
});

test('what JSON cannot hold is refused and nothing is sent', () =>
  withScript([stored()], {}, async (client, requests) => {
    for (const [name, data] of Object.entries(refusedValues)) {
      await assert.rejects(client.enqueue('bob', 't', data), TypeError, name);
      await assert.rejects(client.enqueueMany([{ peer: 'bob', type: 't' }, { peer: 'bob', type: 't', data }]), TypeError, name);
    }
    assert.equal(requests.length, 0);
    await client.enqueue('bob', 't', { whole: 'ä😀' });
    assert.deepEqual(JSON.parse(requests[0].body).data, { whole: 'ä😀' });
    assert.throws(() => new ackbox.Client('http://localhost', { token: 'ключ' }), TypeError);
  }));

test('a value that JSON cannot hold is named by its path', () =>
  withScript([], {}, async (client, requests) => {
    const items = [1, 2, 3, { price: Number.NaN }];
    const cases = [
      [{ items }, 'data.items[3].price is NaN'], [items, 'data[3].price is NaN'], [1n, 'data is a bigint'],
      [{ 'a b': [Infinity] }, 'data["a b"][0] is Infinity'], [{ a: { b: undefined } }, 'data.a.b is undefined'],
      [[1, , 2], 'data[1] is undefined'], [{ a: ['ä\ud800'] }, 'data.a[0] has half a surrogate pair'],
      [{ a: { '\udc00': 1 } }, 'data.a["\\udc00"] has half'], [{ at: new Date(0) }, 'data.at is an object of Date'],
      [{ a: Object.assign([], { b: 1 }) }, 'data.a is an array with members'], [{ ['k'.repeat(1000)]: NaN }, `data.${'k'.repeat(295)}… is NaN`],
    ];
    for (const [data, beginning] of cases) {
      await assert.rejects(client.enqueue('bob', 't', data), (error) => error instanceof TypeError && error.message.startsWith(beginning), beginning);
    }
    await assert.rejects(client.enqueueMany([{ peer: 'bob', type: 't' }, { peer: 'bob', type: 't', data: { a: 1n } }]),
      /^TypeError: messages\[1\]\.data\.a is a bigint/);
    await assert.rejects(new ackbox.Frame(loneEvent('m').raw, 'r', 1).ack({ a: [Number.NaN] }), /^TypeError: result\.a\[0\] is NaN/);
    assert.equal(requests.length, 0);
  }));

const frameLine = () => `${JSON.stringify({ receipt: 'r1', run: 1, event: sessionEvent(4).raw })}\n`;
const settledAnswer = () => [200, {}, '{"results":[{"receipt":"r1","status":"settled"}]}'];

test('what the work on a frame throws is the reason of its retry, unless it was settled', () =>
  withScript(Array(3).fill([[200, {}, frameLine()], settledAnswer()]).flat(), {}, async (client, requests) => {
    const works = [
      () => {
        throw new RangeError('half \ud800');
      },
      () => {
        throw new RangeError('ä'.repeat(9_000_000));
      },
      async (frame) => {
        await frame.ack({ n: 1 });
        throw new RangeError('late');
      },
    ];
    for (const work of works) {
      await assert.rejects(async () => {
        for await (const frame of client.receive()) {
          await frame.attempt(work);
        }
      }, RangeError);
    }
    const settlements = requests.filter((request) => request.method === 'POST').map((request) => JSON.parse(request.body).settlements);
    assert.deepEqual(settlements, [
      [{ receipt: 'r1', outcome: 'retry', reason: 'RangeError: half \ufffd' }],
      [{ receipt: 'r1', outcome: 'retry', reason: `RangeError: ${'ä'.repeat(494)}` }],
      [{ receipt: 'r1', outcome: 'ack', result: { n: 1 } }],
    ]);
  }));

/** What `run` settles of a frame of each of these types, and the warnings. It ends by the refusal of a second stream. */
async function ran(handlers, ...types) {
  const lines = types.map((type, n) => `${JSON.stringify({ receipt: `r${n}`, run: 1, event: { ...loneEvent(`m${n}`).raw, type } })}\n`);
  const settled = [];
  const warnings = await warningsOf(() =>
    withScript([[200, {}, lines.join('')], ...types.map(settledAnswer), problem(403, 'The end')], {}, async (client, requests) => {
      await assert.rejects(client.run(handlers), ackbox.Forbidden);
      settled.push(...requests.filter((request) => request.method === 'POST').map((request) => JSON.parse(request.body).settlements[0]));
    }));
  return { settled: settled.map(({ outcome, result, reason }) => [outcome, result ?? reason]), warnings };
}

test('run gives each frame to the handler of its type, or to that of all others', async () => {
  const handlers = { a: (frame) => frame.ack('a'), '*': async (frame) => frame.reject('other') };
  assert.deepEqual(await ran(handlers, 'a', 'b', 'a'), { settled: [['ack', 'a'], ['reject', 'other'], ['ack', 'a']], warnings: [] });
  assert.deepEqual((await ran((frame) => frame.ack(frame.type), 'a', 'toString')).settled, [['ack', 'a'], ['ack', 'toString']]);
});

test('run retries a frame of a type that has no handler, and warns once for each type', async () => {
  const { settled, warnings } = await ran({ a: (frame) => frame.ack() }, 'b', 'a', 'b', 'toString');
  assert.deepEqual(settled, [['retry', 'no handler for type "b"'], ['ack', undefined], ['retry', 'no handler for type "b"'],
    ['retry', 'no handler for type "toString"']]);
  assert.deepEqual(warnings.map((text) => text.split(':')[0]), ['no handler for type "b"', 'no handler for type "toString"']);
});

test('run retries a frame whose handler throws, and goes on', async () => {
  const fails = (frame) => {
    throw new RangeError(frame.id);
  };
  const { settled, warnings } = await ran({ '*': fails }, 'a', 'a');
  assert.deepEqual(settled, [['retry', 'RangeError: m0'], ['retry', 'RangeError: m1']]);
  assert.deepEqual(warnings.map((text) => text.split(' of urn')[0]), [0, 1].map((n) => `the handler of "a" failed on m${n}`));
  const late = (frame) => {
    void frame.ack();
    throw new RangeError('late');
  };
  assert.deepEqual((await ran(late, 'a')).settled, [['ack', undefined]]);
});

test('run retries a frame that its handler left unsettled, and warns once for each type', async () => {
  const { settled, warnings } = await ran(() => ({ done: true }), 'a', 'a', 'b');
  assert.deepEqual(settled, Array(3).fill(['retry', 'the handler returned without settling the message']));
  assert.equal(warnings.length, 2);
  assert.match(warnings[0], /the handler of "a" returned without settling m0 of urn:agent:alice/);
});

test('run waits for a settlement that its handler began', async () => {
  assert.deepEqual(await ran((frame) => void frame.ack(1), 'a', 'a'), { settled: [['ack', 1], ['ack', 1]], warnings: [] });
});

test('run ends where a frame cannot be settled, and with the client', async () => {
  await warningsOf(() => withScript([[200, {}, frameLine()], problem(409, 'No')], {}, (client) =>
    assert.rejects(client.run(() => {
      throw new RangeError('cause');
    }), RangeError)));
  await withScript([[200, {}, frameLine()], settledAnswer()], {}, (client) => client.run(async (frame) => {
    await frame.ack();
    client.close();
  }));
});

test('run refuses what are no handlers before it asks for frames', () =>
  withScript([], {}, async (client, requests) => {
    for (const [handlers, text] of [[undefined, /handlers must be a function, or/], [{}, /handlers must be/], [{ a: 1 }, /the handler of "a" is no function/],
      [{ 'order.*': () => 1 }, /its types are exact: use "\*" for all others/]]) {
      await assert.rejects(client.run(handlers), (error) => error instanceof TypeError && text.test(error.message));
    }
    await assert.rejects(client.run(() => 1, { type: 'a' }), /did you mean "types"/);
    assert.equal(requests.length, 0);
  }));

test('a loop that settles nothing is warned once', () =>
  withScript([[200, {}, `${frameLine()}${'\n'.repeat(9)}`], [200, {}, `${frameLine()}${'\n'.repeat(9)}${frameLine()}`]], {}, async (client) => {
    const warnings = await warningsOf(async () => {
      let count = 0;
      for await (const frame of client.receive()) {
        assert.equal(frame.id, 'm4');
        if (++count === 3) {
          break;
        }
      }
    });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /1 are not settled, the oldest is m4 of urn:agent:alice: .*ack, retry, reject or release/);
  }));
