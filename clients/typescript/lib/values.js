// What JavaScript can hold and JSON cannot is refused before anything happens: JSON.stringify would change or drop it.
// Depths of nesting that the daemon takes, of data and of a result; and the bytes of a result.
export const dataDepthMax = 62;
const resultDepthMax = 59;
const resultBytesMax = 64 * 1024;
function check(value, what, left) {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') {
        return;
    }
    if (typeof value === 'number') {
        if (!Number.isFinite(value)) {
            throw new TypeError(`${what} contains ${value}, which JSON cannot hold: send null or a text`);
        }
        return;
    }
    if (typeof value !== 'object') {
        throw new TypeError(`${what} contains a value of type ${typeof value}, which JSON cannot hold`);
    }
    if (left === 0) {
        throw new TypeError(`${what} is nested too deep, or contains itself`);
    }
    if (Array.isArray(value)) {
        // Not forEach: it passes over holes.
        for (const one of value) {
            check(one, what, left - 1);
        }
        return;
    }
    const prototype = Object.getPrototypeOf(value);
    // A plain object of another realm has a prototype that has none.
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
        const name = value.constructor?.name ?? 'class';
        throw new TypeError(`${what} contains an object of ${name}, which JSON cannot hold: send a text or a plain object`);
    }
    if (Object.getOwnPropertySymbols(value).length > 0) {
        throw new TypeError(`${what} has a key that is a symbol: keys of JSON are text`);
    }
    for (const one of Object.values(value)) {
        // A member that is undefined is absent, on both sides.
        if (one !== undefined) {
            check(one, what, left - 1);
        }
    }
}
/** JSON. Throws TypeError with what is wrong. Half a surrogate pair is escaped. */
export function toJson(value, what, depthMax) {
    check(value, what, depthMax);
    return JSON.stringify(value);
}
/** As `toJson`, of what a sender can get as a result. */
export function resultToJson(result) {
    const text = toJson(result, 'the result', resultDepthMax);
    if (Buffer.byteLength(text) > resultBytesMax) {
        throw new TypeError('the result is larger than 64 KiB: put it where the sender can fetch it');
    }
    return text;
}
/** A reason that can be sent, whatever it was made of. */
export function printable(text) {
    return Buffer.from(text).toString();
}
