// Inbound frames from the pull stream, and what became of them.

import { isPassing, ProblemError, problemError, Unreachable, wishedPause } from './errors.js';
import { Event, type Json } from './event.js';
import type { Daemon } from './http.js';
import { printable, resultToJson } from './values.js';
import { pauseAfter, wait } from './wait.js';

// The daemon sends an empty line at least every 10 s.
const silenceMost = 30_000;
// Empty lines, with nothing between them, after which a frame that is not settled is worth a warning.
const silentLines = 3;
const settleTimeout = 60_000;
const settleTries = 4;

/** A settlement is JSON. */
type Settle = (settlement: string) => Promise<boolean>;

/**
 * An event that this application holds until it settles it, or its stream ends. Each must be settled once.
 *
 * `ack`, `retry`, `reject` and `release` resolve to whether it counted, once that is durable. False: the stream had
 * ended before, and the frame is given out again, so that its effect must not happen twice (`apply`); or it had
 * counted, and the answer was lost. No program needs to do anything about it.
 */
export class Frame extends Event {
  /** How often it was given out, this time included. */
  readonly run: number;
  readonly #receipt: string;
  readonly #settle: Settle;
  #isSettled = false;

  constructor(raw: Record<string, Json>, receipt: string, run: number, settle: Settle) {
    super(raw);
    this.run = run;
    this.#receipt = receipt;
    this.#settle = settle;
  }

  /** Works on the frame: what `work` throws is the reason of a `retry`, and thrown on. Without, the frame comes again only
   * because its stream ends, and nobody learns why. */
  async attempt<R>(work: (frame: this) => R | Promise<R>): Promise<R> {
    try {
      return await work(this);
    } catch (error) {
      if (!this.#isSettled) {
        const text = error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${typeof error === 'string' ? error : typeof error}`;
        await this.retry(text).catch((refusal: unknown) => {
          process.emitWarning(`frame ${this.id} of ${this.source} was not settled: ${String(refusal)}`, 'AckboxWarning');
        });
      }
      throw error;
    }
  }

  /** It is done. `result` is JSON, of at most 64 KiB: the sender gets it as the answer. Throws `TypeError` where JSON cannot
   * hold it, and the frame is still held; `apply` refuses it before the effect. */
  async ack(result?: Json): Promise<boolean> {
    return this.#end('ack', { result: result === undefined ? undefined : resultToJson(result) });
  }

  /** Not now: it comes again after so many milliseconds, or after the daemon's backoff. A run is charged. */
  retry(reason?: string, after?: number): Promise<boolean> {
    return this.#end('retry', {
      reason: reason ? JSON.stringify(printable(reason)) : undefined,
      after: after === undefined ? undefined : `"${Math.round(after)}ms"`,
    });
  }

  /** Never: the sender gets a dead letter with this reason. */
  reject(reason: string): Promise<boolean> {
    return this.#end('reject', { reason: JSON.stringify(printable(reason)) });
  }

  /** It was not worked on: it is given out again at once, and nothing is charged. */
  release(): Promise<boolean> {
    return this.#end('release', {});
  }

  /** `members` are JSON. */
  async #end(outcome: string, members: Record<string, string | undefined>): Promise<boolean> {
    const settlement = [`"receipt":${JSON.stringify(this.#receipt)}`, `"outcome":"${outcome}"`];
    for (const [name, value] of Object.entries(members)) {
      if (value !== undefined) {
        settlement.push(`"${name}":${value}`);
      }
    }
    const isSettled = await this.#settle(`{${settlement.join()}}`);
    this.#isSettled = true;
    return isSettled;
  }
}

/** The lines of one open stream; it ends when the stream does, however. */
async function* lines(response: Response, signal: AbortSignal, isAlive: () => void): AsyncGenerator<string> {
  if (!response.body) {
    return;
  }
  const decoder = new TextDecoder();
  // In parts, so that a long line is put together once.
  let parts: string[] = [];
  const reader = response.body.getReader();
  // The signal of fetch does not end each read: one whose connection was lost before may wait for ever.
  const end = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', end);
  if (signal.aborted) {
    end();
  }
  for (;;) {
    let chunk;
    try {
      chunk = await reader.read();
    } catch {
      return;
    }
    if (chunk.done) {
      return; // Half a line is no frame.
    }
    isAlive();
    const pieces = decoder.decode(chunk.value, { stream: true }).split('\n');
    for (const piece of pieces.slice(0, -1)) {
      parts.push(piece);
      yield parts.join('');
      parts = [];
    }
    parts.push(pieces[pieces.length - 1] ?? '');
  }
}

/** Frames of one stream after the other, until `signal` is aborted. */
export async function* frames(daemon: Daemon, target: string, signal: AbortSignal): AsyncGenerator<Frame, void, void> {
  let failures = 0;
  let silent = 0;
  let hasWarned = false;
  while (!signal.aborted) {
    // Given out and not settled, oldest first.
    const held = new Map<string, Frame>();
    const lease = new AbortController();
    const end = (): void => lease.abort();
    signal.addEventListener('abort', end);
    let silence = setTimeout(end, silenceMost);
    const isAlive = (): void => {
      clearTimeout(silence);
      silence = setTimeout(end, silenceMost);
    };
    let wish = 0;
    try {
      const response = await open(daemon, target, lease.signal);
      if (response instanceof ProblemError) {
        wish = wishedPause(response);
      } else if (response) {
        for await (const line of lines(response, lease.signal, isAlive)) {
          failures = 0;
          if (signal.aborted) {
            break;
          }
          if (line.trim()) {
            const given = JSON.parse(line) as { event: Record<string, Json>; receipt: string; run: number };
            // Nothing is read while the caller works on it.
            clearTimeout(silence);
            silent = 0;
            const frame = new Frame(given.event, given.receipt, given.run, async (one) => {
              const isSettled = await settle(daemon, one, lease);
              held.delete(given.receipt);
              return isSettled;
            });
            held.set(given.receipt, frame);
            yield frame;
            isAlive();
          } else if (++silent === silentLines && held.size > 0 && !hasWarned) {
            hasWarned = true;
            warn(held);
          }
        }
      }
    } finally {
      // Also when the caller leaves its loop: what it has not settled is in play again at once.
      clearTimeout(silence);
      signal.removeEventListener('abort', end);
      lease.abort();
    }
    await wait(Math.max(pauseAfter(failures++), wish), signal);
  }
}

/** The loop waits for frames, and those that it has not settled may be why none comes. */
function warn(held: Map<string, Frame>): void {
  const [oldest] = held.values();
  process.emitWarning(
    `no frame has come for a while, and ${held.size} are not settled, the oldest is ${oldest?.id} of ${oldest?.source}: ` +
      'the next of their sessions come once they are settled by ack, retry, reject or release, and none at all while the ' +
      'window is full',
    'AckboxWarning',
  );
}

/** Nothing: the daemon is away. An error: it takes no more streams for now. */
async function open(daemon: Daemon, target: string, signal: AbortSignal): Promise<Response | ProblemError | undefined> {
  let response;
  let body;
  try {
    response = await daemon.open(target, signal);
    if (response.status === 200) {
      return response;
    }
    body = await response.text();
  } catch {
    return undefined;
  }
  const error = problemError(response.status, body, response.headers.get('retry-after'));
  if (isPassing(error)) {
    return error;
  }
  throw error;
}

async function settle(daemon: Daemon, settlement: string, lease: AbortController): Promise<boolean> {
  const body = `{"settlements":[${settlement}]}`;
  for (let failures = 1; ; ++failures) {
    let wish = 0;
    try {
      const answer = await daemon.ask('POST', '/v1/inbox/settle', body, settleTimeout);
      if (answer.status < 400) {
        const { results } = JSON.parse(answer.body) as { results: { status: string }[] };
        return results[0]?.status === 'settled';
      }
      const error = problemError(answer.status, answer.body, answer.retryAfter);
      if (!isPassing(error)) {
        throw error;
      }
      wish = wishedPause(error);
    } catch (error) {
      if (!(error instanceof Unreachable)) {
        throw error;
      }
    }
    if (failures === settleTries) {
      // The frame must not stay held by a stream whose settlements do not arrive.
      lease.abort();
      return false;
    }
    await wait(Math.max(pauseAfter(failures), wish));
  }
}
