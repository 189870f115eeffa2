// Client of `ackbox serve`: a durable outbox and its inbound frames, over HTTP. No dependencies.

export { Client } from './client.js';
export type { ClientOptions, Enqueued, EnqueueOptions, Message, ReceiveOptions, ShownMessage } from './client.js';
export {
  AckboxError,
  Conflict,
  DiskFull,
  Forbidden,
  Invalid,
  NotFound,
  ProblemError,
  QueueFull,
  SignatureInvalid,
  TooLarge,
  Unauthenticated,
  Unavailable,
  Unreachable,
} from './errors.js';
export { Event } from './event.js';
export type { Json } from './event.js';
export type { Handler, Handlers } from './handlers.js';
export { apply, createMarks, forgetIds } from './marks.js';
export type { Applied, Database, SqlValue, Transaction } from './marks.js';
export { Frame } from './stream.js';
export { verifyWebhook } from './webhook.js';
