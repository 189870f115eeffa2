/** Of all of them. */
export declare class AckboxError extends Error {
    constructor(message: string, options?: {
        cause?: unknown;
    });
}
/** The daemon did not answer. Whether it did what it was asked for is not known. */
export declare class Unreachable extends AckboxError {
}
/** A pushed request that is not signed with one of the keys, or too old. Answer it with 401. */
export declare class SignatureInvalid extends AckboxError {
}
/** The daemon refused a request. The message is that of the problem document (RFC 9457). */
export declare class ProblemError extends AckboxError {
    readonly status: number;
    readonly problem: Readonly<Record<string, unknown>>;
    /** In milliseconds, when the daemon said so. */
    readonly retryAfter: number | undefined;
    constructor(status: number, problem: Record<string, unknown>, retryAfter?: number);
}
/** 401: no token, or one that the daemon does not know. */
export declare class Unauthenticated extends ProblemError {
}
/** 403: the token has not the role that the operation needs. */
export declare class Forbidden extends ProblemError {
}
/** 404: no such message; or it was acknowledged and is not kept any more. */
export declare class NotFound extends ProblemError {
}
/** 409: the idempotency key or id was used with another peer, session, type or data. */
export declare class Conflict extends ProblemError {
}
/** 413. */
export declare class TooLarge extends ProblemError {
}
/** 422: a field is wrong, or no peer has this name. */
export declare class Invalid extends ProblemError {
}
/** 429: `outbox.max_pending` or `max_pending_bytes` is reached. */
export declare class QueueFull extends ProblemError {
}
/** 503: the file is busy, or the daemon is being stopped. */
export declare class Unavailable extends ProblemError {
}
/** 507. */
export declare class DiskFull extends ProblemError {
}
/** The error for an answer with a status of 400 or more. */
export declare function problemError(status: number, body: string, retryAfter: string | null): ProblemError;
/** Whether the same request may succeed later: of 502 and 504, a proxy's daemon is away. */
export declare function isPassing(error: AckboxError): boolean;
/** Milliseconds that the daemon asks to be left alone for, within an hour; 0: it said nothing. */
export declare function wishedPause(error: AckboxError): number;
