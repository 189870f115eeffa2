// Effect once in the application's own database: the mark of a message commits together with its effect.
//
// A daemon may give a message more than once, as after a crash between the effect and its settlement. Within a session
// numbers only grow, so one row a session recognises repetitions for ever. A message outside any session is recognised
// by its source and id, by a row of its own.
import { resultToJson } from './values.js';
const schema = [
    'CREATE TABLE IF NOT EXISTS ackbox_marks (source TEXT NOT NULL, origin TEXT NOT NULL, session TEXT NOT NULL, ' +
        'sequence BIGINT NOT NULL, result TEXT, PRIMARY KEY (source, origin, session))',
    'CREATE TABLE IF NOT EXISTS ackbox_mark_ids (source TEXT NOT NULL, id TEXT NOT NULL, applied_at_ms BIGINT NOT NULL, ' +
        'result TEXT, PRIMARY KEY (source, id))',
];
const markSequence = 'INSERT INTO ackbox_marks (source, origin, session, sequence) VALUES (?, ?, ?, ?) ' +
    'ON CONFLICT (source, origin, session) DO UPDATE SET sequence = excluded.sequence, result = NULL ' +
    'WHERE excluded.sequence > ackbox_marks.sequence';
const wherePlace = 'WHERE source = ? AND origin = ? AND session = ? AND sequence = ?';
const markId = 'INSERT INTO ackbox_mark_ids (source, id, applied_at_ms) VALUES (?, ?, ?) ON CONFLICT (source, id) DO NOTHING';
const whereId = 'WHERE source = ? AND id = ?';
const written = (database, sql) => {
    let count = 0;
    return database.parameters === '$1' ? sql.replace(/\?/g, () => `$${++count}`) : sql;
};
/** Makes the tables of the marks, unless they exist. Call it once, when the application starts. */
export async function createMarks(database) {
    await database.transaction(async (transaction) => {
        for (const statement of schema) {
            await transaction.run(statement, []);
        }
    });
}
/** The mark of one event, in a transaction. */
class Mark {
    #database;
    #transaction;
    #event;
    #inSession;
    #key;
    constructor(database, transaction, event) {
        this.#database = database;
        this.#transaction = transaction;
        this.#event = event;
        this.#inSession = event.sequence !== 0n;
        this.#key = this.#inSession ? [event.source, event.origin, event.session, event.sequence] : [event.source, event.id];
    }
    /** False: it was there before. */
    async set() {
        const sql = this.#inSession ? markSequence : markId;
        return (await this.#run(sql, this.#inSession ? this.#key : [...this.#key, Date.now()])) > 0;
    }
    /** False: the mark is not there. */
    async keep(result) {
        const sql = this.#inSession ? `UPDATE ackbox_marks SET result = ? ${wherePlace}` : `UPDATE ackbox_mark_ids SET result = ? ${whereId}`;
        return (await this.#run(sql, [result, ...this.#key])) > 0;
    }
    /** Its result alone; undefined: the mark is not there, or a later one is. */
    async row() {
        const sql = this.#inSession ? `SELECT result FROM ackbox_marks ${wherePlace}` : `SELECT result FROM ackbox_mark_ids ${whereId}`;
        return this.#transaction.get(written(this.#database, sql), this.#key);
    }
    /** Calls the application's function in a transaction that is not its own to end; what it returned is kept. */
    async effect(call) {
        // It goes with the transaction. Elsewhere than in SQLite, a savepoint that is not there would undo what was begun since.
        const hasSavepoint = this.#database.parameters !== '$1' && (await this.#tries('SAVEPOINT ackbox_apply'));
        const hasEnded = async () => hasSavepoint && !(await this.#tries('RELEASE ackbox_apply'));
        const which = `the effect of ${this.#event.id} of ${this.#event.source}`;
        let result;
        let text;
        try {
            result = (await call()) ?? undefined;
            text = result === undefined ? null : resultToJson(result);
        }
        catch (error) {
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
    async #run(sql, values) {
        return Number(await this.#transaction.run(written(this.#database, sql), values));
    }
    async #tries(sql) {
        try {
            await this.#transaction.run(sql, []);
            return true;
        }
        catch {
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
export async function apply(database, event, effect) {
    return database.transaction(async (transaction) => {
        const mark = new Mark(database, transaction, event);
        if (!(await mark.set())) {
            const text = (await mark.row())?.['result'];
            return { isNew: false, result: typeof text === 'string' ? JSON.parse(text) : undefined };
        }
        return { isNew: true, result: await mark.effect(() => effect(transaction, event)) };
    });
}
/**
 * Deletes the marks of messages outside sessions that are older than so many milliseconds (30 days); how many.
 *
 * It must be longer than a sender goes on trying, which is 7 days by default (`retry.horizon`).
 */
export async function forgetIds(database, olderThan = 30 * 86_400_000, now = Date.now()) {
    return database.transaction(async (transaction) => {
        const sql = written(database, 'DELETE FROM ackbox_mark_ids WHERE applied_at_ms < ?');
        return Number(await transaction.run(sql, [now - olderThan]));
    });
}
