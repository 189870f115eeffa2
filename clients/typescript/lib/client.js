// What an application asks the daemon for.
import { randomUUID } from 'node:crypto';
import { AckboxError, isPassing, NotFound, problemError, Unreachable, wishedPause } from './errors.js';
import { Router } from './handlers.js';
import { Daemon } from './http.js';
import { checkKind, checkOptions } from './options.js';
import { ackAll, frames } from './stream.js';
import { dataDepthMax, toJson } from './values.js';
import { pauseAfter, wait } from './wait.js';
const waitMost = 30_000;
const fields = {
    session: { kind: 'string', wireName: 'session' },
    idempotencyKey: { kind: 'string', wireName: 'idempotency_key' },
    notBefore: { kind: 'instant', wireName: 'not_before_ms' },
    expiresAt: { kind: 'instant', wireName: 'expires_at_ms' },
    priority: { kind: 'integer', wireName: 'priority' },
    supersedeKey: { kind: 'string', wireName: 'supersede_key' },
    correlationId: { kind: 'string', wireName: 'correlation_id' },
    traceparent: { kind: 'string', wireName: 'traceparent' },
    messageId: { kind: 'string', wireName: 'message_id' },
};
const enqueueKinds = Object.fromEntries(Object.entries(fields).map(([name, { kind }]) => [name, kind]));
const messageKinds = { peer: 'string', type: 'string', data: 'json', ...enqueueKinds };
const clientKinds = { token: 'string', retryFor: 'number', timeout: 'number' };
const receiveKinds = { types: 'string', sessions: 'string', window: 'integer', mailbox: 'string', signal: 'signal' };
/** Milliseconds since 1970, of a date. Throws `TypeError` for one that is invalid. */
function sentValue(name, value) {
    if (!(value instanceof Date)) {
        return value;
    }
    if (Number.isNaN(value.getTime())) {
        throw new TypeError(`${name} is an invalid Date: give one that has a time, or milliseconds since 1970`);
    }
    return value.getTime();
}
function sent(message) {
    const raw = { peer: message.peer, type: message.type, data: message.data ?? null };
    for (const [name, { wireName }] of Object.entries(fields)) {
        const value = message[name];
        if (value !== undefined) {
            raw[wireName] = sentValue(name, value);
        }
    }
    if (message.messageId === undefined) {
        raw['idempotency_key'] ??= randomUUID();
    }
    return raw;
}
function messageToJson(message, ...root) {
    return toJson(sent(message), dataDepthMax + 1, ...root);
}
function enqueued(raw) {
    const isAccepted = raw.status === 'stored' || raw.status === 'duplicate';
    const { status, message_id: id = '', sequence = 0, detail = '' } = raw;
    return { status, id, sequence, detail, isAccepted };
}
/** A daemon at `http://127.0.0.1:7070` or `https://…`. */
export class Client {
    #daemon;
    #retryFor;
    #timeout;
    #closed = new AbortController();
    constructor(url, options = {}) {
        checkOptions(options, clientKinds, 'Client');
        this.#daemon = new Daemon(url, options.token);
        this.#retryFor = options.retryFor ?? 60_000;
        this.#timeout = options.timeout ?? 30_000;
    }
    /** Ends each `receive`, and what waits to be tried again. */
    close() {
        this.#closed.abort();
    }
    /**
     * Stores a message; it is durable when this resolves. Throws `ProblemError` if it was refused, and `Unreachable` if
     * the daemon did not answer for `retryFor`; then it may be stored. Throws `TypeError`, and nothing is sent, where JSON
     * cannot hold `data`, and for an option that is misspelt or of a wrong type.
     */
    async enqueue(peer, type, data = null, options = {}) {
        checkKind('peer', peer, 'string');
        checkKind('type', type, 'string');
        checkOptions(options, enqueueKinds, 'enqueue');
        const body = messageToJson({ ...options, peer, type, data });
        return enqueued(JSON.parse(await this.#ask('POST', '/v1/messages', body)));
    }
    /**
     * Stores up to 10,000 messages (and 8 MiB) in one request. Resolves to what became of each, in order; some may be
     * refused while others are stored.
     */
    async enqueueMany(messages) {
        const texts = Array.from(messages, (message, index) => {
            checkOptions(message, messageKinds, `messages[${index}]`);
            return messageToJson(message, 'messages', index);
        });
        const body = `[${texts.join()}]`;
        const answer = JSON.parse(await this.#ask('POST', '/v1/messages', body));
        return answer.results.map(enqueued);
    }
    /**
     * Where a message stands. With `wait` in milliseconds, resolves when it is acknowledged (`state` is `acked`) or given
     * up (`failed`, `reason`), or after that time. `result` is what the peer answered, among the last answers: it
     * is not in the file. Throws `NotFound`.
     */
    async message(id, options = {}) {
        checkKind('id', id, 'string');
        checkOptions(options, { wait: 'number' }, 'message');
        const path = `/v1/messages/${encodeURIComponent(id)}`;
        const end = Date.now() + (options.wait ?? 0);
        // What is tried again, as where too many wait, waits for what is left.
        const target = () => {
            const left = Math.min(Math.max(end - Date.now(), 0), waitMost);
            return options.wait === undefined ? path : `${path}?wait=${Math.round(left)}ms`;
        };
        const timeout = this.#timeout + Math.min(options.wait ?? 0, waitMost);
        for (;;) {
            const answer = await this.#ask('GET', target, undefined, timeout);
            const shown = JSON.parse(answer);
            if (['acked', 'failed', 'gone'].includes(shown.state) || Date.now() >= end) {
                return shown;
            }
        }
    }
    /** Gauges and totals. */
    async stats() {
        return JSON.parse(await this.#ask('GET', '/v1/stats'));
    }
    /** Each peer, as `GET /v1/peers` has it. */
    async peers() {
        const answer = JSON.parse(await this.#ask('GET', '/v1/peers'));
        return answer.peers;
    }
    /**
     * Adds a peer to the daemon's file, or changes one that was added: `definition` has the fields of an entry of `peers` in
     * the configuration, without `name`. Resolves to whether it is new. Throws `Invalid`.
     */
    async addPeer(name, definition) {
        return (await this.#operate('PUT', '/v1/peers/', name, definition)).added === true;
    }
    /**
     * Removes a peer that was added. Throws `Conflict`, and removes nothing, while messages to it are not settled; with
     * `failMessages` they become dead letters. Call it again while `left` is not 0: those are in flight.
     */
    async removePeer(name, options = {}) {
        checkOptions(options, { failMessages: 'boolean' }, 'removePeer');
        return this.#operate('DELETE', '/v1/peers/', name, undefined, options.failMessages ? '?messages=fail' : '');
    }
    /** Who gets what is published, as `GET /v1/subscriptions` has it. */
    async subscriptions() {
        const answer = JSON.parse(await this.#ask('GET', '/v1/subscriptions'));
        return answer.subscriptions;
    }
    /**
     * Makes or changes the subscription `name`: the peer gets what is published from now on, of this type and session, each
     * exact or a beginning with `*`. Resolves to whether it is new. Throws `Invalid`, as for an unknown peer.
     */
    async subscribe(name, peer, options = {}) {
        checkKind('peer', peer, 'string');
        checkOptions(options, { type: 'string', session: 'string' }, 'subscribe');
        return (await this.#operate('PUT', '/v1/subscriptions/', name, { ...options, peer })).added === true;
    }
    /** Ends a subscription; what is stored stays. Resolves to whether there was one. */
    async unsubscribe(name) {
        try {
            await this.#operate('DELETE', '/v1/subscriptions/', name);
        }
        catch (error) {
            if (error instanceof NotFound) {
                return false;
            }
            throw error;
        }
        return true;
    }
    /**
     * Inbound frames, for ever. At most `window` are held at a time; settle each. Those of a session come one after the
     * other. While the daemon is away, it is asked again. A loop that is left ends the stream, and what it has not
     * settled is given out again. Throws `ProblemError` if the daemon refuses, as for a token without the role `receive`.
     */
    async *receive(options = {}) {
        checkOptions(options, receiveKinds, 'receive');
        const query = new URLSearchParams({ window: String(options.window ?? 64) });
        if (options.types !== undefined) {
            query.set('types', options.types);
        }
        if (options.sessions !== undefined) {
            query.set('sessions', options.sessions);
        }
        if (options.mailbox !== undefined) {
            query.set('mailbox', options.mailbox);
        }
        const stop = new AbortController();
        const end = () => stop.abort();
        const signals = [this.#closed.signal, ...(options.signal ? [options.signal] : [])];
        for (const signal of signals) {
            signal.addEventListener('abort', end);
            if (signal.aborted) {
                end();
            }
        }
        try {
            yield* frames(this.#daemon, `/v1/inbox/stream?${query}`, stop.signal);
        }
        finally {
            for (const signal of signals) {
                signal.removeEventListener('abort', end);
            }
        }
    }
    /**
     * Calls a handler for each inbound frame, one after the other, until `close`, or until `signal` is aborted.
     *
     * `handlers` is a function, or an object of them by type, with `*` for all other types. A handler gets the frame and
     * settles it. Settled by `retry` are: a frame whose handler threw, with the error as the reason, which is a warning; one
     * that its handler left unsettled; and one of a type that has no handler. The last two are a warning once for each type.
     * Throws what `receive` does, and what a handler threw where its frame cannot be settled.
     */
    async run(handlers, options = {}) {
        const router = new Router(handlers);
        for await (const frame of this.receive(options)) {
            await router.workOn(frame);
        }
    }
    /**
     * Acknowledges frames of this client's `receive` in one request, or one for each 1,024 of them and 4 MiB of results.
     * `results` has the result of each, or undefined. Resolves to what `Frame.ack` does, of each in order. Throws `TypeError`,
     * and settles none, where JSON cannot hold a result, or where there are not as many results as frames.
     */
    async ackMany(frames, results) {
        const held = [...frames];
        const given = results === undefined ? held.map(() => undefined) : [...results];
        if (given.length !== held.length) {
            throw new TypeError(`there are ${held.length} frames and ${given.length} results: give one for each frame`);
        }
        return ackAll(this.#daemon, held, given);
    }
    async #operate(method, path, name, value, query = '') {
        checkKind('name', name, 'string');
        const body = value === undefined ? undefined : toJson(value, dataDepthMax);
        return JSON.parse(await this.#ask(method, path + encodeURIComponent(name) + query, body));
    }
    /** The answer of a request that may be repeated: it is, while that may help. `target` may be made for each try. */
    async #ask(method, target, body, timeout = this.#timeout) {
        const end = Date.now() + this.#retryFor;
        for (let failures = 0;; ++failures) {
            if (this.#closed.signal.aborted) {
                throw new AckboxError('the client was closed');
            }
            let error;
            try {
                const answer = await this.#daemon.ask(method, typeof target === 'string' ? target : target(), body, timeout);
                if (answer.status < 400) {
                    return answer.body;
                }
                error = problemError(answer.status, answer.body, answer.retryAfter);
            }
            catch (failure) {
                if (!(failure instanceof Unreachable)) {
                    throw failure;
                }
                error = failure;
            }
            const pause = Math.max(pauseAfter(failures), wishedPause(error));
            if (!isPassing(error) || Date.now() + pause > end) {
                throw error;
            }
            if (error instanceof Unreachable) {
                this.#daemon.warnOnce(error);
            }
            await wait(pause, this.#closed.signal);
        }
    }
}
