// Effect once in the application's own database: the mark of a message commits together with its effect.
//
// A daemon may give a message more than once, as after a crash between the effect and its settlement. Within a session
// numbers only grow, so one row a session recognises repetitions for ever. A message outside any session is recognised
// by its source and id, by a row of its own.

import type { Event, Json } from './event.js';
import { resultToJson } from './values.js';

export type SqlValue = string | number | bigint | null;

/** What `apply` asks of a driver, within a transaction. */
export interface Transaction {
  /** Runs a statement; the number of rows that it changed. */
  run(sql: string, parameters: SqlValue[]): number | bigint | Promise<number | bigint>;
  /** The first row of a query, if it has any. */
  get(sql: string, parameters: SqlValue[]): Row | undefined | Promise<Row | undefined>;
}

type Row = Record<string, unknown>;

/** A database with ON CONFLICT, such as SQLite and PostgreSQL. */
export interface Database<T extends Transaction> {
  /** Begins, calls `work`, and commits; rolls back, and throws, what `work` throws. */
  transaction<R>(work: (transaction: T) => Promise<R>): Promise<R>;
  /** How a statement names its parameters: `?`, the default, or `$1`. */
  readonly parameters?: '?' | '$1';
}

/** What became of a message. */
export interface Applied<R> {
  /** False: it had taken effect before, and nothing was called. */
  readonly isNew: boolean;
  /** What the function returned; of a duplicate, what it returned then, where that is still known. */
  readonly result: R | undefined;
}

const schema = [
  'CREATE TABLE IF NOT EXISTS ackbox_marks (source TEXT NOT NULL, origin TEXT NOT NULL, session TEXT NOT NULL, ' +
    'sequence BIGINT NOT NULL, result TEXT, PRIMARY KEY (source, origin, session))',
  'CREATE TABLE IF NOT EXISTS ackbox_mark_ids (source TEXT NOT NULL, id TEXT NOT NULL, applied_at_ms BIGINT NOT NULL, ' +
    'result TEXT, PRIMARY KEY (source, id))',
];

const markSequence =
  'INSERT INTO ackbox_marks (source, origin, session, sequence) VALUES (?, ?, ?, ?) ' +
  'ON CONFLICT (source, origin, session) DO UPDATE SET sequence = excluded.sequence, result = NULL ' +
  'WHERE excluded.sequence > ackbox_marks.sequence';
const wherePlace = 'WHERE source = ? AND origin = ? AND session = ? AND sequence = ?';
const markId =
  'INSERT INTO ackbox_mark_ids (source, id, applied_at_ms) VALUES (?, ?, ?) ON CONFLICT (source, id) DO NOTHING';
const whereId = 'WHERE source = ? AND id = ?';

const written = (database: { parameters?: '?' | '$1' }, sql: string): string => {
  let count = 0;
  return database.parameters === '$1' ? sql.replace(/\?/g, () => `$${++count}`) : sql;
};

/** Makes the tables of the marks, unless they exist. Call it once, when the application starts. */
export async function createMarks<T extends Transaction>(database: Database<T>): Promise<void> {
  await database.transaction(async (transaction) => {
    for (const statement of schema) {
      await transaction.run(statement, []);
    }
  });
}

/** The mark of one event, in a transaction. */
class Mark {
  readonly #database: { parameters?: '?' | '$1' };
  readonly #transaction: Transaction;
  readonly #event: Event;
  readonly #inSession: boolean;
  readonly #key: SqlValue[];

  constructor(database: { parameters?: '?' | '$1' }, transaction: Transaction, event: Event) {
    this.#database = database;
    this.#transaction = transaction;
    this.#event = event;
    this.#inSession = event.sequence !== 0n;
    this.#key = this.#inSession ? [event.source, event.origin, event.session, event.sequence] : [event.source, event.id];
  }

  /** False: it was there before. */
  async set(): Promise<boolean> {
    const sql = this.#inSession ? markSequence : markId;
    return (await this.#run(sql, this.#inSession ? this.#key : [...this.#key, Date.now()])) > 0;
  }

  /** False: the mark is not there. */
  async keep(result: string | null): Promise<boolean> {
    const sql = this.#inSession ? `UPDATE ackbox_marks SET result = ? ${wherePlace}` : `UPDATE ackbox_mark_ids SET result = ? ${whereId}`;
    return (await this.#run(sql, [result, ...this.#key])) > 0;
  }

  /** Its result alone; undefined: the mark is not there, or a later one is. */
  async row(): Promise<Row | undefined> {
    const sql = this.#inSession ? `SELECT result FROM ackbox_marks ${wherePlace}` : `SELECT result FROM ackbox_mark_ids ${whereId}`;
    return this.#transaction.get(written(this.#database, sql), this.#key);
  }

  /** Calls the application's function in a transaction that is not its own to end; what it returned is kept. */
  async effect<R extends Json>(call: () => R | undefined | void | Promise<R | undefined | void>): Promise<R | undefined> {
    // It goes with the transaction. Elsewhere than in SQLite, a savepoint that is not there would undo what was begun since.
    const hasSavepoint = this.#database.parameters !== '$1' && (await this.#tries('SAVEPOINT ackbox_apply'));
    const hasEnded = async (): Promise<boolean> => hasSavepoint && !(await this.#tries('RELEASE ackbox_apply'));
    const which = `the effect of ${this.#event.id} of ${this.#event.source}`;
    let result: R | undefined;
    let text: string | null;
    try {
      result = (await call()) ?? undefined;
      text = result === undefined ? null : resultToJson(result);
    } catch (error) {
      if (await hasEnded()) {
        // What the driver rolls back now.
        await this.#tries('BEGIN');
        if (await this.row()) {
          process.emitWarning(`${which} threw behind its own commit: what it committed stays, with the mark, so that a repetition ` +
            'changes nothing; leave commit to apply', 'AckboxWarning');
        }
      }
      throw error;
    }
    if ((await hasEnded()) || !(await this.keep(text))) {
      process.emitWarning(`${which} ended the transaction that apply commits: a crash behind that would have lost its result, or ` +
        'its mark, without which it happens again; leave commit and rollback to apply', 'AckboxWarning');
      // What the driver commits now. After a rollback the mark is not there any more, and the effect must not happen again.
      await this.#tries('BEGIN');
      await this.set();
      await this.keep(text);
    }
    return result;
  }

  async #run(sql: string, values: SqlValue[]): Promise<number> {
    return Number(await this.#transaction.run(written(this.#database, sql), values));
  }

  async #tries(sql: string): Promise<boolean> {
    try {
      await this.#transaction.run(sql, []);
      return true;
    } catch {
      return false;
    }
  }
}

/**
 * Calls `effect` and commits its writes with the mark of `event`; a duplicate calls nothing.
 *
 * `effect` must neither commit nor roll back: one that does is a warning, and not called again if it returns.
 * What `effect` throws is thrown here, after a rollback: then neither effect nor mark is there. What it returns must be
 * JSON or undefined; pass it to `Frame.ack`. What `Frame.ack` would refuse is refused here, before the commit. With a
 * driver of one connection, one call must end before the next begins.
 */
export async function apply<T extends Transaction, R extends Json>(
  database: Database<T>,
  event: Event,
  effect: (transaction: T, event: Event) => R | undefined | void | Promise<R | undefined | void>,
): Promise<Applied<R>> {
  return database.transaction(async (transaction) => {
    const mark = new Mark(database, transaction, event);
    if (!(await mark.set())) {
      const text = (await mark.row())?.['result'];
      return { isNew: false, result: typeof text === 'string' ? (JSON.parse(text) as R) : undefined };
    }
    return { isNew: true, result: await mark.effect(() => effect(transaction, event)) };
  });
}

/**
 * Deletes the marks of messages outside sessions that are older than so many milliseconds (30 days); how many.
 *
 * It must be longer than a sender goes on trying, which is 7 days by default (`retry.horizon`).
 */
export async function forgetIds<T extends Transaction>(
  database: Database<T>,
  olderThan: number = 30 * 86_400_000,
  now: number = Date.now(),
): Promise<number> {
  return database.transaction(async (transaction) => {
    const sql = written(database, 'DELETE FROM ackbox_mark_ids WHERE applied_at_ms < ?');
    return Number(await transaction.run(sql, [now - olderThan]));
  });
}
