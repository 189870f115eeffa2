// Which handler works on a message, and the warning of one that has no handler, or that its handler left unsettled.
// Types are of the senders' choice: no more of them are remembered.
const warnedTypesMost = 1_000;
const others = '*';
/** Throws TypeError for what are no handlers. */
function handlersByType(handlers) {
    if (typeof handlers === 'function') {
        return new Map([[others, handlers]]);
    }
    const entries = typeof handlers === 'object' && handlers !== null ? Object.entries(handlers) : [];
    if (entries.length === 0) {
        throw new TypeError('handlers must be a function, or an object of functions by type, with "*" for all other types');
    }
    for (const [type, handler] of entries) {
        if (type !== others && type.endsWith(others)) {
            throw new TypeError(`handlers has "${type}", but its types are exact: use "*" for all others, and frame.type`);
        }
        if (typeof handler !== 'function') {
            throw new TypeError(`the handler of "${type}" is no function`);
        }
    }
    return new Map(entries);
}
/** Settles what its handlers do not. */
export class Router {
    #handlers;
    #warned = new Set();
    constructor(handlers) {
        this.#handlers = handlersByType(handlers);
    }
    /** Gives the frame to its handler. Throws what the handler threw where the frame cannot be settled, and what a settlement does. */
    async workOn(frame) {
        const handler = this.#handlers.get(frame.type) ?? this.#handlers.get(others);
        if (handler === undefined) {
            const reason = `no handler for type "${frame.type}"`;
            this.#warnOnce(frame, `${reason}: its messages are retried until their sender gives them up; add one, or one for "*"`);
            await frame.retry(reason);
            return;
        }
        try {
            await frame.attempt(handler);
        }
        catch (error) {
            if (!frame.isSettled) {
                throw error; // Its stream must end, which gives it out again.
            }
            const detail = error instanceof Error && error.stack ? { detail: error.stack } : {};
            process.emitWarning(`the handler of "${frame.type}" failed on ${frame.id} of ${frame.source}: ${String(error)}`, {
                type: 'AckboxWarning', ...detail,
            });
        }
        if (!frame.isSettled) {
            this.#warnOnce(frame, `the handler of "${frame.type}" returned without settling ${frame.id} of ${frame.source}: it is retried; ` +
                'call ack, retry, reject or release in each case, and wait for its promise');
            await frame.retry('the handler returned without settling the message');
        }
    }
    #warnOnce(frame, text) {
        if (!this.#warned.has(frame.type) && this.#warned.size < warnedTypesMost) {
            this.#warned.add(frame.type);
            process.emitWarning(text, 'AckboxWarning');
        }
    }
}
