// See node_test.sh.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { load } from 'ackbox/extension';
import Database from 'better-sqlite3';

function open() {
  const database = new Database('alice.db', { timeout: 30_000 });
  load(database);
  return database;
}

const openFiles = () =>
  readdirSync('/proc/self/fd').filter((one) => {
    try {
      return readlinkSync(`/proc/self/fd/${one}`).includes('/alice.db');
    } catch {
      return false;
    }
  });

test('the program that docs/sql.md shows works', () => {
  copyFileSync('alice.db', 'shown.db');
  assert.equal(execFileSync('node', ['shown.mjs', 'shown.db'], { encoding: 'utf8' }), 'stored 1\n');
});

test('P1 P2: a message commits and rolls back with the row, synced', () => {
  const database = open();
  // better-sqlite3 has NORMAL for files with a log.
  assert.equal(database.pragma('synchronous', { simple: true }), 2);
  database.exec('CREATE TABLE orders(n INTEGER)');
  const place = database.transaction((n, fails) => {
    database.prepare('INSERT INTO orders VALUES(?)').run(n);
    const frame = { peer: 'bob', session: 'orders', type: 'order.placed', data: { n } };
    const receipt = JSON.parse(database.prepare('SELECT ackbox_enqueue(?)').pluck().get(JSON.stringify(frame)));
    if (fails) {
      throw new Error('it fails');
    }
    return receipt;
  });
  assert.equal(place.immediate(1, false).sequence, 1);
  assert.throws(() => place.immediate(2, true), /it fails/);
  assert.equal(place.immediate(3, false).sequence, 2);
  const shown = database.prepare("SELECT json_extract(data,'$.n') AS n FROM ackbox_messages ORDER BY row_id").pluck();
  assert.deepEqual(shown.all(), [1, 3]);
  assert.deepEqual(database.prepare('SELECT n FROM orders').pluck().all(), [1, 3]);
  assert.equal(JSON.parse(database.prepare('SELECT ackbox_stats()').pluck().get()).pending, 2);
  database.close();
  assert.deepEqual(openFiles(), []);
});

test('a refusal is an error of SQLite, and leaves the transaction as it was', () => {
  const database = open();
  const enqueue = database.prepare("SELECT ackbox_enqueue('carol','s','t','1')").pluck();
  assert.throws(() => enqueue.get(), { name: 'SqliteError', message: /^ackbox: noTransaction: begin one first/ });
  database.transaction(() => {
    assert.throws(() => enqueue.get(), { code: 'SQLITE_ERROR', message: /unknownPeer: the outbox knows the peers: bob$/ });
    assert.equal(database.prepare("SELECT ackbox_mark('a','o','s',1)").pluck().get(), 1);
  })();
  database.transaction(() => {
    assert.equal(database.prepare("SELECT ackbox_mark('a','o','s',1)").pluck().get(), 0);
  })();
  database.close();
});
