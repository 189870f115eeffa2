/** A connection of `better-sqlite3`, or of `node:sqlite` with `allowExtension`. */
export interface Loader {
    loadExtension(path: string): unknown;
}
/** The path of the extension: `ACKBOX_EXTENSION` of the environment, or the platform's package, or the system's. */
export declare function extension(): string | undefined;
/**
 * Adds the functions `ackbox_enqueue`, `ackbox_mark` and others to `database`, and to no other connection.
 *
 * If its file is an outbox, `synchronous` becomes FULL and automatic checkpoints are off. Throws where the extension is
 * missing, or SQLite refuses it.
 */
export declare function load(database: Loader): void;
