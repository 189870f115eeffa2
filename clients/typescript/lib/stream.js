// Inbound frames from the pull stream, and what became of them.
import { isPassing, ProblemError, problemError, Unreachable, wishedPause } from './errors.js';
import { Event } from './event.js';
import { pauseAfter, wait } from './wait.js';
// The daemon sends an empty line at least every 10 s.
const silenceMost = 30_000;
const settleTimeout = 60_000;
const settleTries = 4;
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
    #settle;
    constructor(raw, receipt, run, settle) {
        super(raw);
        this.run = run;
        this.#receipt = receipt;
        this.#settle = settle;
    }
    /** It is done. `result` is JSON, of at most 64 KiB: the sender gets it as the answer. */
    ack(result) {
        return this.#end('ack', { result });
    }
    /** Not now: it comes again after so many milliseconds, or after the daemon's backoff. A run is charged. */
    retry(reason, after) {
        return this.#end('retry', { reason, after: after === undefined ? undefined : `${Math.round(after)}ms` });
    }
    /** Never: the sender gets a dead letter with this reason. */
    reject(reason) {
        return this.#end('reject', { reason });
    }
    /** It was not worked on: it is given out again at once, and nothing is charged. */
    release() {
        return this.#end('release', {});
    }
    #end(outcome, members) {
        const settlement = { receipt: this.#receipt, outcome };
        for (const [name, value] of Object.entries(members)) {
            if (value !== undefined) {
                settlement[name] = value;
            }
        }
        return this.#settle(settlement);
    }
}
/** The lines of one open stream; it ends when the stream does, however. */
async function* lines(response, isAlive) {
    if (!response.body) {
        return;
    }
    const decoder = new TextDecoder();
    // In parts, so that a long line is put together once.
    let parts = [];
    const reader = response.body.getReader();
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
    while (!signal.aborted) {
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
                for await (const line of lines(response, isAlive)) {
                    failures = 0;
                    if (signal.aborted) {
                        break;
                    }
                    if (line.trim()) {
                        const given = JSON.parse(line);
                        // Nothing is read while the caller works on it.
                        clearTimeout(silence);
                        yield new Frame(given.event, given.receipt, given.run, (one) => settle(daemon, one, lease));
                        isAlive();
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
    catch {
        return undefined;
    }
    const error = problemError(response.status, body, response.headers.get('retry-after'));
    if (isPassing(error)) {
        return error;
    }
    throw error;
}
async function settle(daemon, settlement, lease) {
    const body = JSON.stringify({ settlements: [settlement] });
    for (let failures = 1;; ++failures) {
        let wish = 0;
        try {
            const answer = await daemon.ask('POST', '/v1/inbox/settle', body, settleTimeout);
            if (answer.status < 400) {
                const { results } = JSON.parse(answer.body);
                return results[0]?.status === 'settled';
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
        }
        if (failures === settleTries) {
            // The frame must not stay held by a stream whose settlements do not arrive.
            lease.abort();
            return false;
        }
        await wait(Math.max(pauseAfter(failures), wish));
    }
}
