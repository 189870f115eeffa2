import { Event, type Json } from './event.js';
import type { Daemon } from './http.js';
/** What holds a frame. A settlement is JSON. */
interface Holder {
    settle(settlement: string): Promise<boolean>;
    /** The frame was settled by another request, or `isLost`: its settlement does not arrive. */
    ended(isLost: boolean): void;
}
/**
 * An event that this application holds until it settles it, or its stream ends. Each must be settled once.
 *
 * `ack`, `retry`, `reject` and `release` resolve to whether it counted, once that is durable. False: the stream had
 * ended before, and the frame is given out again, so that its effect must not happen twice (`apply`); or it had
 * counted, and the answer was lost. No program needs to do anything about it.
 */
export declare class Frame extends Event {
    #private;
    /** How often it was given out, this time included. */
    readonly run: number;
    constructor(raw: Record<string, Json>, receipt: string, run: number, holder: Holder);
    /** Whether `ack`, `retry`, `reject` or `release` was answered. */
    get isSettled(): boolean;
    /** Works on the frame: what `work` throws is the reason of a `retry`, and thrown on. Without, the frame comes again only
     * because its stream ends, and nobody learns why. */
    attempt<R>(work: (frame: this) => R | Promise<R>): Promise<R>;
    /** It is done. `result` is JSON, of at most 64 KiB: the sender gets it as the answer. Throws `TypeError` where JSON cannot
     * hold it, and the frame is still held; `apply` refuses it before the effect. */
    ack(result?: Json): Promise<boolean>;
    /** Not now: it comes again after so many milliseconds, or after the daemon's backoff. A run is charged. */
    retry(reason?: string, after?: number): Promise<boolean>;
    /** Never: the sender gets a dead letter with this reason. */
    reject(reason: string): Promise<boolean>;
    /** It was not worked on: it is given out again at once, and nothing is charged. */
    release(): Promise<boolean>;
}
/** Frames of one stream after the other, until `signal` is aborted. */
export declare function frames(daemon: Daemon, target: string, signal: AbortSignal): AsyncGenerator<Frame, void, void>;
/** As `Client.ackMany`. */
export declare function ackAll(daemon: Daemon, held: readonly Frame[], results: readonly (Json | undefined)[]): Promise<boolean[]>;
export {};
