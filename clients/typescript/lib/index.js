// Client of `ackbox serve`: a durable outbox and its inbound frames, over HTTP. No dependencies.
export { Client } from './client.js';
export { AckboxError, Conflict, DiskFull, Forbidden, Invalid, NotFound, ProblemError, QueueFull, SignatureInvalid, TooLarge, Unauthenticated, Unavailable, Unreachable, } from './errors.js';
export { Event } from './event.js';
export { apply, createMarks, forgetIds } from './marks.js';
export { Frame } from './stream.js';
export { verifyWebhook } from './webhook.js';
