// One request to the daemon.

import { Unreachable } from './errors.js';

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
}

const remedies: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there: start the daemon (ackbox serve), or correct the address',
  ENOTFOUND: 'correct the name of the host',
  EAI_AGAIN: 'correct the name of the host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'name the authority of its certificate in NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'name the authority of its certificate in NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'name the authority of its certificate in NODE_EXTRA_CA_CERTS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'correct the host: the certificate is for another',
};
const otherRemedy = "look at the daemon's log, and whether another program listens there";

export class Daemon {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  #hasWarned = false;

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

  /** The answer's head; its body is read by the caller. Throws `Unreachable`. */
  async open(target: string, signal: AbortSignal): Promise<Response> {
    try {
      const response = await fetch(this.#base + target, { headers: this.#headers, signal });
      this.#hasWarned = false;
      return response;
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  /** Warns, if this is the first failure since an answer came. Called where the request is tried again. */
  warnOnce(error: Unreachable): void {
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      process.emitWarning(`${error.message}; it is tried again, and the failures after it are not logged`, 'AckboxWarning');
    }
  }

  /** The address, the cause and the remedy of what fetch threw. */
  #unreachable(error: unknown): Unreachable {
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    // The message of several addresses that were tried is empty.
    const text = cause?.message || cause?.code || (error as Error).message;
    return new Unreachable(`${this.#base} does not answer: ${text}; ${remedies[cause?.code ?? ''] ?? otherRemedy}`, { cause: error });
  }

  /** Asks once; throws `Unreachable`. */
  async ask(method: string, target: string, body: string | undefined, timeout: number): Promise<Answer> {
    const headers = body === undefined ? this.#headers : { ...this.#headers, 'content-type': 'application/json' };
    try {
      const signal = AbortSignal.timeout(timeout);
      const response = await fetch(this.#base + target, { method, headers, signal, ...(body === undefined ? {} : { body }) });
      const answer = { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.text() };
      this.#hasWarned = false;
      return answer;
    } catch (error) {
      throw this.#unreachable(error);
    }
  }
}
