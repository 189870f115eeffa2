export interface Answer {
    readonly status: number;
    readonly retryAfter: string | null;
    readonly body: string;
}
export declare class Daemon {
    #private;
    constructor(url: string, token: string | undefined);
    /** The answer's head; its body is read by the caller. Throws what fetch does. */
    open(target: string, signal: AbortSignal): Promise<Response>;
    /** Asks once; throws `Unreachable`. */
    ask(method: string, target: string, body: string | undefined, timeout: number): Promise<Answer>;
}
