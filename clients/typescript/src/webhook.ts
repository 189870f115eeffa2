// Verifies requests that the daemon pushes (Standard Webhooks).

import { createHmac, timingSafeEqual } from 'node:crypto';
import { SignatureInvalid } from './errors.js';
import { Event, type Json } from './event.js';
import { checkOptions } from './options.js';

const key = (secret: string): Uint8Array => {
  const text = secret.trim().replace(/^whsec_/, '');
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) {
    throw new TypeError('a secret must be whsec_ and base64');
  }
  return bytes;
};

type Headers = { get(name: string): string | null } | Record<string, string | string[] | undefined>;

const header = (headers: Headers, name: string): string => {
  if (typeof headers['get'] === 'function') {
    return (headers as { get(name: string): string | null }).get(name) ?? '';
  }
  const found = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : '';
};

/**
 * The event of a request, if its signature is by one of `secrets` (`whsec_…`) and not older than `tolerance` in
 * milliseconds (5 minutes).
 *
 * `body` must be the bytes that came. Throws `SignatureInvalid`. A request that is repeated within the tolerance is
 * valid: `apply` recognises it. Ed25519 keys (`whpk_`) are not supported.
 */
export function verifyWebhook(
  secrets: string | readonly string[],
  headers: Headers,
  body: Uint8Array | string,
  options: { tolerance?: number; now?: number } = {},
): Event {
  checkOptions(options, { tolerance: 'number', now: 'number' }, 'verifyWebhook');
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map(key);
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  if (!id || !timestamp || !signatures) {
    throw new SignatureInvalid('the request is not signed');
  }
  if (!/^[0-9]{1,12}$/.test(timestamp)) {
    throw new SignatureInvalid('webhook-timestamp is no number');
  }
  if (Math.abs((options.now ?? Date.now()) - Number(timestamp) * 1000) > (options.tolerance ?? 300_000)) {
    throw new SignatureInvalid("webhook-timestamp is too far from this machine's clock");
  }
  const given = signatures
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .map((part) => Buffer.from(part.slice(3)));
  let matches = false;
  // All are compared, so that the time shows nothing.
  for (const one of keys) {
    const digest = createHmac('sha256', one).update(`${id}.${timestamp}.`).update(body).digest('base64');
    const expected = Buffer.from(digest);
    for (const other of given) {
      matches = (expected.length === other.length && timingSafeEqual(expected, other)) || matches;
    }
  }
  if (!matches) {
    throw new SignatureInvalid('no signature is by a known key');
  }
  let raw: unknown = null;
  try {
    raw = JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
  } catch {
    // Refused below.
  }
  const event = raw as { id?: unknown; source?: unknown } | null;
  if (typeof event !== 'object' || typeof event?.id !== 'string' || typeof event.source !== 'string') {
    throw new SignatureInvalid('the body is no CloudEvent');
  }
  return new Event(raw as Record<string, Json>);
}
