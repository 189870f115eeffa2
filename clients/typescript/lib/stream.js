// Inbound frames from the pull stream, and what became of them.
import { isPassing, ProblemError, problemError, Unreachable, wishedPause } from './errors.js';
import { Event } from './event.js';
import { checkKind } from './options.js';
import { printable, resultToJson } from './values.js';
import { pauseAfter, wait } from './wait.js';
// The daemon sends an empty line at least every 10 s.
const silenceMost = 30_000;
// Empty lines, with nothing between them, after which a frame that is not settled is worth a warning.
const silentLines = 3;
const settleTimeout = 60_000;
const settleTries = 4;
// Of one request: what the daemon takes, and less than its 8 MiB.
const settlementsMost = 1_024;
const settlementsBytesMost = 4 * 1024 * 1024;
/** A frame's acknowledgement, and what is called when it was settled; within this module. */
let acknowledgement;
/**
 * An event that this application holds until it settles it, or its stream ends. Each must be settled once.
 *
 * `ack`, `retry`, `reject` and `release` resolve to whether it counted, once that is durable. False: the stream had
 * ended before, and the frame is given out again, so that its effect must not happen twice (`apply`); or it had
 * counted, and the answer was lost. No program needs to do anything about it.
 */
export class Frame extends Event {
    /** How often it was given out, this time included. */
    run;
    #receipt;
    #holder;
    #isSettled = false;
    // Of a settlement that was begun.
    #settling;
    constructor(raw, receipt, run, holder) {
        super(raw);
        this.run = run;
        this.#receipt = receipt;
        this.#holder = holder;
    }
    static {
        acknowledgement = (frame, result) => ({
            settlement: frame.#acknowledgement(result),
            ended: (isLost) => {
                frame.#isSettled = true;
                frame.#holder.ended(isLost);
            },
        });
    }
    /** Whether `ack`, `retry`, `reject` or `release` was answered. */
    get isSettled() {
        return this.#isSettled;
    }
    /** Works on the frame: what `work` throws is the reason of a `retry`, and thrown on. Without, the frame comes again only
     * because its stream ends, and nobody learns why. */
    async attempt(work) {
        try {
            const result = await work(this);
            // What was begun and not waited for.
            await this.#settling;
            return result;
        }
        catch (error) {
            await this.#settling?.catch(() => undefined);
            if (!this.#isSettled) {
                const text = error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${typeof error === 'string' ? error : typeof error}`;
                await this.retry(text).catch((refusal) => {
                    process.emitWarning(`frame ${this.id} of ${this.source} was not settled: ${String(refusal)}`, 'AckboxWarning');
                });
            }
            throw error;
        }
    }
    /** It is done. `result` is JSON, of at most 64 KiB: the sender gets it as the answer. Throws `TypeError` where JSON cannot
     * hold it, and the frame is still held; `apply` refuses it before the effect. */
    async ack(result) {
        return this.#end(this.#acknowledgement(result));
    }
    /** Not now: it comes again after so many milliseconds, or after the daemon's backoff. A run is charged. */
    async retry(reason, after) {
        checkKind('reason', reason ?? '', 'string');
        checkKind('after', after ?? 0, 'number');
        return this.#end(this.#settlement('retry', {
            reason: reason ? JSON.stringify(printable(reason)) : undefined,
            after: after === undefined ? undefined : `"${Math.round(after)}ms"`,
        }));
    }
    /** Never: the sender gets a dead letter with this reason. */
    async reject(reason) {
        checkKind('reason', reason, 'string');
        return this.#end(this.#settlement('reject', { reason: JSON.stringify(printable(reason)) }));
    }
    /** It was not worked on: it is given out again at once, and nothing is charged. */
    release() {
        return this.#end(this.#settlement('release', {}));
    }
    #acknowledgement(result) {
        return this.#settlement('ack', { result: result === undefined ? undefined : resultToJson(result) });
    }
    /** `members` are JSON. */
    #settlement(outcome, members) {
        const settlement = [`"receipt":${JSON.stringify(this.#receipt)}`, `"outcome":"${outcome}"`];
        for (const [name, value] of Object.entries(members)) {
            if (value !== undefined) {
                settlement.push(`"${name}":${value}`);
            }
        }
        return `{${settlement.join()}}`;
    }
    async #end(settlement) {
        const settling = this.#holder.settle(settlement);
        this.#settling = settling;
        const isSettled = await settling;
        this.#isSettled = true;
        return isSettled;
    }
}
/** The lines of one open stream; it ends when the stream does, however. */
async function* lines(response, signal, isAlive) {
    if (!response.body) {
        return;
    }
    const decoder = new TextDecoder();
    // In parts, so that a long line is put together once.
    let parts = [];
    const reader = response.body.getReader();
    // The signal of fetch does not end each read: one whose connection was lost before may wait for ever.
    const end = () => void reader.cancel().catch(() => undefined);
    signal.addEventListener('abort', end);
    if (signal.aborted) {
        end();
    }
    for (;;) {
        let chunk;
        try {
            chunk = await reader.read();
        }
        catch {
            return;
        }
        if (chunk.done) {
            return; // Half a line is no frame.
        }
        isAlive();
        const pieces = decoder.decode(chunk.value, { stream: true }).split('\n');
        for (const piece of pieces.slice(0, -1)) {
            parts.push(piece);
            yield parts.join('');
            parts = [];
        }
        parts.push(pieces[pieces.length - 1] ?? '');
    }
}
/** Frames of one stream after the other, until `signal` is aborted. */
export async function* frames(daemon, target, signal) {
    let failures = 0;
    let silent = 0;
    let hasWarned = false;
    while (!signal.aborted) {
        // Given out and not settled, oldest first.
        const held = new Map();
        const lease = new AbortController();
        const end = () => lease.abort();
        signal.addEventListener('abort', end);
        let silence = setTimeout(end, silenceMost);
        const isAlive = () => {
            clearTimeout(silence);
            silence = setTimeout(end, silenceMost);
        };
        let wish = 0;
        try {
            const response = await open(daemon, target, lease.signal);
            if (response instanceof ProblemError) {
                wish = wishedPause(response);
            }
            else if (response) {
                for await (const line of lines(response, lease.signal, isAlive)) {
                    failures = 0;
                    if (signal.aborted) {
                        break;
                    }
                    if (line.trim()) {
                        const given = JSON.parse(line);
                        // Nothing is read while the caller works on it.
                        clearTimeout(silence);
                        silent = 0;
                        const ended = (isLost) => {
                            held.delete(given.receipt);
                            if (isLost) {
                                lease.abort();
                            }
                        };
                        const frame = new Frame(given.event, given.receipt, given.run, {
                            settle: async (one) => {
                                const settled = await settle(daemon, [one]);
                                ended(settled === undefined);
                                return settled?.[0] ?? false;
                            },
                            ended,
                        });
                        held.set(given.receipt, frame);
                        yield frame;
                        isAlive();
                    }
                    else if (++silent === silentLines && held.size > 0 && !hasWarned) {
                        hasWarned = true;
                        warn(held);
                    }
                }
            }
        }
        finally {
            // Also when the caller leaves its loop: what it has not settled is in play again at once.
            clearTimeout(silence);
            signal.removeEventListener('abort', end);
            lease.abort();
        }
        await wait(Math.max(pauseAfter(failures++), wish), signal);
    }
}
/** The loop waits for frames, and those that it has not settled may be why none comes. */
function warn(held) {
    const [oldest] = held.values();
    process.emitWarning(`no frame has come for a while, and ${held.size} are not settled, the oldest is ${oldest?.id} of ${oldest?.source}: ` +
        'the next of their sessions come once they are settled by ack, retry, reject or release, and none at all while the ' +
        'window is full', 'AckboxWarning');
}
/** Nothing: the daemon is away. An error: it takes no more streams for now. */
async function open(daemon, target, signal) {
    let response;
    let body;
    try {
        response = await daemon.open(target, signal);
        if (response.status === 200) {
            return response;
        }
        body = await response.text();
    }
    catch (error) {
        if (error instanceof Unreachable && !signal.aborted) {
            daemon.warnOnce(error);
        }
        return undefined;
    }
    const error = problemError(response.status, body, response.headers.get('retry-after'));
    if (isPassing(error)) {
        return error;
    }
    throw error;
}
/** As `Client.ackMany`. */
export async function ackAll(daemon, held, results) {
    const ends = held.map((frame, index) => acknowledgement(frame, results[index]));
    const counted = [];
    while (counted.length < ends.length) {
        const part = [];
        for (let size = 0; part.length < settlementsMost && size < settlementsBytesMost;) {
            const one = ends[counted.length + part.length];
            if (one === undefined) {
                break;
            }
            part.push(one);
            size += Buffer.byteLength(one.settlement);
        }
        const settled = await settle(daemon, part.map((one) => one.settlement));
        for (const one of part) {
            one.ended(settled === undefined);
        }
        counted.push(...(settled ?? part.map(() => false)));
    }
    return counted;
}
/** Whether each counted. Nothing: they do not arrive, and the frames must not stay held by their streams. */
async function settle(daemon, settlements) {
    const body = `{"settlements":[${settlements.join()}]}`;
    for (let failures = 1;; ++failures) {
        let wish = 0;
        try {
            const answer = await daemon.ask('POST', '/v1/inbox/settle', body, settleTimeout);
            if (answer.status < 400) {
                const { results } = JSON.parse(answer.body);
                return settlements.map((_, index) => results[index]?.status === 'settled');
            }
            const error = problemError(answer.status, answer.body, answer.retryAfter);
            if (!isPassing(error)) {
                throw error;
            }
            wish = wishedPause(error);
        }
        catch (error) {
            if (!(error instanceof Unreachable)) {
                throw error;
            }
            daemon.warnOnce(error);
        }
        if (failures === settleTries) {
            return undefined;
        }
        await wait(Math.max(pauseAfter(failures), wish));
    }
}
