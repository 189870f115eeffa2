// One request to the daemon.

import { Unreachable } from './errors.js';

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
}

export class Daemon {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, token: string | undefined) {
    const parsed = new URL(url);
    if (parsed.protocol === 'unix:') {
      throw new TypeError('fetch cannot use socket files: let the daemon listen on 127.0.0.1:PORT, with a token');
    }
    if (!['http:', 'https:'].includes(parsed.protocol) || parsed.username || parsed.password) {
      throw new TypeError('the URL must be http://… or https://…, without a user');
    }
    if (!/^[\x21-\x7e]*$/.test(token ?? '')) {
      throw new TypeError('the token must be ASCII without spaces: it is sent in the head of a request');
    }
    this.#base = url.replace(/\/+$/, '');
    this.#headers = token ? { authorization: `Bearer ${token}` } : {};
  }

  /** The answer's head; its body is read by the caller. Throws what fetch does. */
  open(target: string, signal: AbortSignal): Promise<Response> {
    return fetch(this.#base + target, { headers: this.#headers, signal });
  }

  /** Asks once; throws `Unreachable`. */
  async ask(method: string, target: string, body: string | undefined, timeout: number): Promise<Answer> {
    const headers = body === undefined ? this.#headers : { ...this.#headers, 'content-type': 'application/json' };
    try {
      const signal = AbortSignal.timeout(timeout);
      const response = await fetch(this.#base + target, { method, headers, signal, ...(body === undefined ? {} : { body }) });
      return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.text() };
    } catch (error) {
      const cause = (error as { cause?: { message?: string } }).cause?.message ?? (error as Error).message;
      throw new Unreachable(`${this.#base} does not answer: ${cause}`, { cause: error });
    }
  }
}
