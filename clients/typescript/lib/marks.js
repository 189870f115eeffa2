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
/**
 * Calls `effect` and commits its writes with the mark of `event`; a duplicate calls nothing.
 *
 * What `effect` throws is thrown here, after a rollback: then neither effect nor mark is there. What it returns must be
 * JSON or undefined; pass it to `Frame.ack`. What `Frame.ack` would refuse is refused here, before the commit. With a driver of one connection, one call must end before the next begins.
 */
export async function apply(database, event, effect) {
    const inSession = event.sequence !== 0n;
    const key = inSession
        ? [event.source, event.origin, event.session, event.sequence]
        : [event.source, event.id];
    const table = inSession ? 'ackbox_marks' : 'ackbox_mark_ids';
    const where = inSession ? wherePlace : whereId;
    return database.transaction(async (transaction) => {
        const changed = inSession
            ? await transaction.run(written(database, markSequence), key)
            : await transaction.run(written(database, markId), [...key, Date.now()]);
        if (Number(changed) === 0) {
            const row = await transaction.get(written(database, `SELECT result FROM ${table} ${where}`), key);
            const text = row?.['result'];
            return { isNew: false, result: typeof text === 'string' ? JSON.parse(text) : undefined };
        }
        const result = (await effect(transaction, event)) ?? undefined;
        if (result !== undefined) {
            const keep = written(database, `UPDATE ${table} SET result = ? ${where}`);
            await transaction.run(keep, [resultToJson(result), ...key]);
        }
        return { isNew: true, result };
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
