import type { Event, Json } from './event.js';
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
/** Makes the tables of the marks, unless they exist. Call it once, when the application starts. */
export declare function createMarks<T extends Transaction>(database: Database<T>): Promise<void>;
/**
 * Calls `effect` and commits its writes with the mark of `event`; a duplicate calls nothing.
 *
 * `effect` must neither commit nor roll back: one that does is a warning, and not called again if it returns.
 * What `effect` throws is thrown here, after a rollback: then neither effect nor mark is there. What it returns must be
 * JSON or undefined; pass it to `Frame.ack`. What `Frame.ack` would refuse is refused here, before the commit. With a
 * driver of one connection, one call must end before the next begins.
 */
export declare function apply<T extends Transaction, R extends Json>(database: Database<T>, event: Event, effect: (transaction: T, event: Event) => R | undefined | void | Promise<R | undefined | void>): Promise<Applied<R>>;
/**
 * Deletes the marks of messages outside sessions that are older than so many milliseconds (30 days); how many.
 *
 * It must be longer than a sender goes on trying, which is 7 days by default (`retry.horizon`).
 */
export declare function forgetIds<T extends Transaction>(database: Database<T>, olderThan?: number, now?: number): Promise<number>;
export {};
