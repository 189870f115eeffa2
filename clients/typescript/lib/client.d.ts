import type { Json } from './event.js';
import { type Handlers } from './handlers.js';
import { type Frame } from './stream.js';
export interface ClientOptions {
    /** For a daemon with `tokens_file`. */
    token?: string;
    /** How many milliseconds an operation is tried again while the daemon is away, its file is busy, its queue or its
     * disk is full. Default: 60,000. */
    retryFor?: number;
    /** Of one request, in milliseconds. Default: 30,000. */
    timeout?: number;
}
/** As docs/serve.md has them. */
export interface EnqueueOptions {
    /** Default: `default`, in its order. Empty: none, and the message has no order. */
    session?: string;
    /** Default: one is made, so that what is tried again is stored once. A caller that calls again, as after a crash, must
     * bring its own. */
    idempotencyKey?: string;
    /** Instants, as `Date` or in whole milliseconds since 1970. */
    notBefore?: Date | number;
    expiresAt?: Date | number;
    /** 0 to 9. */
    priority?: number;
    supersedeKey?: string;
    correlationId?: string;
    traceparent?: string;
    messageId?: string;
}
export interface Message extends EnqueueOptions {
    peer: string;
    type: string;
    data?: Json;
}
/** What became of a message. */
export interface Enqueued {
    /** `stored` or `duplicate`; of one of many also why it was refused. */
    readonly status: string;
    readonly id: string;
    /** Its number in its session; 0: it is outside any. */
    readonly sequence: number;
    readonly detail: string;
    readonly isAccepted: boolean;
}
/** As `GET /v1/messages/{id}` answers. */
export interface ShownMessage {
    readonly message_id: string;
    readonly state: 'pending' | 'sending' | 'sent' | 'acked' | 'failed' | 'gone';
    readonly sentence?: string;
    readonly reason?: string;
    readonly last_error?: string;
    readonly result?: Json;
    readonly [name: string]: unknown;
}
export interface ReceiveOptions {
    /** Exact, or a beginning with `*` behind it. Default: all. */
    types?: string;
    sessions?: string;
    /** Frames that are held at a time. Default: 64. */
    window?: number;
    /** The agent whose mailbox at the daemon is taken from; a token with the role `mailbox` needs no name. */
    mailbox?: string;
    /** Ends the iteration. */
    signal?: AbortSignal;
}
/** A daemon at `http://127.0.0.1:7070` or `https://…`. */
export declare class Client {
    #private;
    constructor(url: string, options?: ClientOptions);
    /** Ends each `receive`, and what waits to be tried again. */
    close(): void;
    /**
     * Stores a message; it is durable when this resolves. Throws `ProblemError` if it was refused, and `Unreachable` if
     * the daemon did not answer for `retryFor`; then it may be stored. Throws `TypeError`, and nothing is sent, where JSON
     * cannot hold `data`, and for an option that is misspelt or of a wrong type.
     */
    enqueue(peer: string, type: string, data?: Json, options?: EnqueueOptions): Promise<Enqueued>;
    /**
     * Stores up to 10,000 messages (and 8 MiB) in one request. Resolves to what became of each, in order; some may be
     * refused while others are stored.
     */
    enqueueMany(messages: Iterable<Message>): Promise<Enqueued[]>;
    /**
     * Where a message stands. With `wait` in milliseconds, resolves when it is acknowledged (`state` is `acked`) or given
     * up (`failed`, `reason`), or after that time. `result` is what the peer answered, among the last answers: it
     * is not in the file. Throws `NotFound`.
     */
    message(id: string, options?: {
        wait?: number;
    }): Promise<ShownMessage>;
    /** Gauges and totals. */
    stats(): Promise<Record<string, Json>>;
    /** Each peer, as `GET /v1/peers` has it. */
    peers(): Promise<Record<string, Json>[]>;
    /**
     * Adds a peer to the daemon's file, or changes one that was added: `definition` has the fields of an entry of `peers` in
     * the configuration, without `name`. Resolves to whether it is new. Throws `Invalid`.
     */
    addPeer(name: string, definition: Record<string, Json>): Promise<boolean>;
    /**
     * Removes a peer that was added. Throws `Conflict`, and removes nothing, while messages to it are not settled; with
     * `failMessages` they become dead letters. Call it again while `left` is not 0: those are in flight.
     */
    removePeer(name: string, options?: {
        failMessages?: boolean;
    }): Promise<Record<string, Json>>;
    /** Who gets what is published, as `GET /v1/subscriptions` has it. */
    subscriptions(): Promise<Record<string, Json>[]>;
    /**
     * Makes or changes the subscription `name`: the peer gets what is published from now on, of this type and session, each
     * exact or a beginning with `*`. Resolves to whether it is new. Throws `Invalid`, as for an unknown peer.
     */
    subscribe(name: string, peer: string, options?: {
        type?: string;
        session?: string;
    }): Promise<boolean>;
    /** Ends a subscription; what is stored stays. Resolves to whether there was one. */
    unsubscribe(name: string): Promise<boolean>;
    /**
     * Inbound frames, for ever. At most `window` are held at a time; settle each. Those of a session come one after the
     * other. While the daemon is away, it is asked again. A loop that is left ends the stream, and what it has not
     * settled is given out again. Throws `ProblemError` if the daemon refuses, as for a token without the role `receive`.
     */
    receive(options?: ReceiveOptions): AsyncGenerator<Frame, void, void>;
    /**
     * Calls a handler for each inbound frame, one after the other, until `close`, or until `signal` is aborted.
     *
     * `handlers` is a function, or an object of them by type, with `*` for all other types. A handler gets the frame and
     * settles it. Settled by `retry` are: a frame whose handler threw, with the error as the reason, which is a warning; one
     * that its handler left unsettled; and one of a type that has no handler. The last two are a warning once for each type.
     * Throws what `receive` does, and what a handler threw where its frame cannot be settled.
     */
    run(handlers: Handlers, options?: ReceiveOptions): Promise<void>;
    /**
     * Acknowledges frames of this client's `receive` in one request, or one for each 1,024 of them and 4 MiB of results.
     * `results` has the result of each, or undefined. Resolves to what `Frame.ack` does, of each in order. Throws `TypeError`,
     * and settles none, where JSON cannot hold a result, or where there are not as many results as frames.
     */
    ackMany(frames: Iterable<Frame>, results?: Iterable<Json | undefined>): Promise<boolean[]>;
}
