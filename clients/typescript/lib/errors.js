// What can go wrong, one type for each thing that a program may want to do about it.
/** Of all of them. */
export class AckboxError extends Error {
    constructor(message, options) {
        super(message, options);
        this.name = new.target.name;
    }
}
/** The daemon did not answer. Whether it did what it was asked for is not known. */
export class Unreachable extends AckboxError {
}
/** A pushed request that is not signed with one of the keys, or too old. Answer it with 401. */
export class SignatureInvalid extends AckboxError {
}
/** The daemon refused a request. The message is that of the problem document (RFC 9457). */
export class ProblemError extends AckboxError {
    status;
    problem;
    /** In milliseconds, when the daemon said so. */
    retryAfter;
    constructor(status, problem, retryAfter) {
        const text = [problem['title'], problem['detail']].filter((part) => typeof part === 'string' && part).join(': ');
        super(text ? `${status} ${text}` : String(status));
        this.status = status;
        this.problem = problem;
        this.retryAfter = retryAfter;
    }
}
/** 401: no token, or one that the daemon does not know. */
export class Unauthenticated extends ProblemError {
}
/** 403: the token has not the role that the operation needs. */
export class Forbidden extends ProblemError {
}
/** 404: no such message; or it was acknowledged and is not kept any more. */
export class NotFound extends ProblemError {
}
/** 409: the idempotency key or id was used with another peer, session, type or data. */
export class Conflict extends ProblemError {
}
/** 413. */
export class TooLarge extends ProblemError {
}
/** 422: a field is wrong, or no peer has this name. */
export class Invalid extends ProblemError {
}
/** 429: `outbox.max_pending` or `max_pending_bytes` is reached. */
export class QueueFull extends ProblemError {
}
/** 503: the file is busy, or the daemon is being stopped. */
export class Unavailable extends ProblemError {
}
/** 507. */
export class DiskFull extends ProblemError {
}
const types = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
    429: QueueFull,
    503: Unavailable,
    507: DiskFull,
};
/** The error for an answer with a status of 400 or more. */
export function problemError(status, body, retryAfter) {
    let problem = { detail: body.slice(0, 200) };
    try {
        const parsed = JSON.parse(body);
        if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
            problem = parsed;
        }
    }
    catch {
        // Not of the daemon, such as a proxy's page: its beginning is the detail.
    }
    const seconds = retryAfter !== null && /^[0-9]{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined;
    return new (types[status] ?? ProblemError)(status, problem, seconds);
}
/** Whether the same request may succeed later: of 502 and 504, a proxy's daemon is away. */
export function isPassing(error) {
    return (error instanceof Unreachable ||
        error instanceof QueueFull ||
        error instanceof Unavailable ||
        error instanceof DiskFull ||
        (error instanceof ProblemError && [502, 504].includes(error.status)));
}
/** Milliseconds that the daemon asks to be left alone for, within an hour; 0: it said nothing. */
export function wishedPause(error) {
    return error instanceof ProblemError ? Math.min(error.retryAfter ?? 0, 3_600_000) : 0;
}
