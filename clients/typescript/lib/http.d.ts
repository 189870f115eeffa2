import { Unreachable } from './errors.js';
export interface Answer {
    readonly status: number;
    readonly retryAfter: string | null;
    readonly body: string;
}
export declare class Daemon {
    #private;
    constructor(url: string, token: string | undefined);
    /** The answer's head; its body is read by the caller. Throws `Unreachable`. */
    open(target: string, signal: AbortSignal): Promise<Response>;
    /** Warns, if this is the first failure since an answer came. Called where the request is tried again. */
    warnOnce(error: Unreachable): void;
    /** Asks once; throws `Unreachable`. */
    ask(method: string, target: string, body: string | undefined, timeout: number): Promise<Answer>;
}
