import { Event } from './event.js';
type Headers = {
    get(name: string): string | null;
} | Record<string, string | string[] | undefined>;
/**
 * The event of a request, if its signature is by one of `secrets` (`whsec_…`) and not older than `tolerance` in
 * milliseconds (5 minutes).
 *
 * `body` must be the bytes that came. Throws `SignatureInvalid`. A request that is repeated within the tolerance is
 * valid: `apply` recognises it. Ed25519 keys (`whpk_`) are not supported.
 */
export declare function verifyWebhook(secrets: string | readonly string[], headers: Headers, body: Uint8Array | string, options?: {
    tolerance?: number;
    now?: number;
}): Event;
export {};
