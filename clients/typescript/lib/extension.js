// SQL functions on the application's own connection: a message is enqueued in the transaction of its rows.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
function* places() {
    try {
        const platform = `ackbox-${process.platform}-${process.arch}/package.json`;
        yield join(dirname(createRequire(import.meta.url).resolve(platform)), 'program', 'lib');
    }
    catch {
        // The platform's package is not installed.
    }
    const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
    for (const prefix of ['/usr/local/lib', '/usr/lib']) {
        yield prefix;
        yield join(prefix, `${machine}-linux-gnu`);
    }
}
/** The path of the extension: `ACKBOX_EXTENSION` of the environment, or the platform's package, or the system's. */
export function extension() {
    const given = process.env['ACKBOX_EXTENSION'];
    if (given) {
        return given;
    }
    for (const place of places()) {
        const path = join(place, 'ackbox', 'ackbox.so');
        if (existsSync(path)) {
            return path;
        }
    }
    return undefined;
}
/**
 * Adds the functions `ackbox_enqueue`, `ackbox_mark` and others to `database`, and to no other connection.
 *
 * If its file is an outbox, `synchronous` becomes FULL and automatic checkpoints are off. Throws where the extension is
 * missing, or SQLite refuses it.
 */
export function load(database) {
    const path = extension();
    if (path === undefined) {
        throw new Error('ackbox.so is not found: install ackbox, or name it in ACKBOX_EXTENSION');
    }
    database.loadExtension(path);
}
