// What JavaScript can hold and JSON cannot is refused before anything happens: JSON.stringify would change or drop it.
// Depths of nesting that the daemon takes, of data and of a result; and the bytes of a result.
export const dataDepthMax = 62;
const resultDepthMax = 59;
const resultBytesMax = 64 * 1024;
// What the daemon keeps of a reason.
const reasonBytesMax = 1_000;
const pathLettersMax = 300;
function shown(path) {
    let text = '';
    for (const part of path) {
        if (typeof part === 'number') {
            text += `[${part}]`;
        }
        else if (/^[A-Za-z_$][\w$]*$/.test(part)) {
            text += text ? `.${part}` : part;
        }
        else {
            text += `[${JSON.stringify(part)}]`;
        }
    }
    return text.length <= pathLettersMax ? text : `${text.slice(0, pathLettersMax)}…`;
}
function checkText(text, path) {
    if (/\p{Surrogate}/u.test(text)) {
        throw new TypeError(`${shown(path)} has half a surrogate pair, which is no character: cut text between characters, or replace it by ` +
            'Buffer.from(text).toString()');
    }
}
function checkElements(value, left, path) {
    // Not forEach: it passes over holes.
    for (const [index, one] of value.entries()) {
        path.push(index);
        check(one, left - 1, path);
        path.pop();
    }
    if (Object.keys(value).length !== value.length) {
        throw new TypeError(`${shown(path)} is an array with members besides its elements, which JSON cannot hold`);
    }
}
function checkMembers(value, left, path) {
    const prototype = Object.getPrototypeOf(value);
    // A plain object of another realm has a prototype that has none.
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
        const name = value.constructor?.name ?? 'class';
        throw new TypeError(`${shown(path)} is an object of ${name}, which JSON cannot hold: send a text or a plain object`);
    }
    if (Object.getOwnPropertySymbols(value).length > 0) {
        throw new TypeError(`${shown(path)} has a key that is a symbol: keys of JSON are text`);
    }
    for (const [name, one] of Object.entries(value)) {
        path.push(name);
        checkText(name, path);
        check(one, left - 1, path);
        path.pop();
    }
}
function check(value, left, path) {
    if (value === null || typeof value === 'boolean' || Number.isFinite(value)) {
        return;
    }
    if (typeof value === 'string') {
        checkText(value, path);
    }
    else if (typeof value === 'number') {
        throw new TypeError(`${shown(path)} is ${value}, which JSON cannot hold: send null or a text`);
    }
    else if (value === undefined) {
        throw new TypeError(`${shown(path)} is undefined, which JSON cannot hold: leave it out, or send null`);
    }
    else if (typeof value !== 'object') {
        throw new TypeError(`${shown(path)} is a ${typeof value}, which JSON cannot hold: send a text or a number`);
    }
    else if (left === 0) {
        throw new TypeError(`${shown(path)} is nested too deep, or contains itself`);
    }
    else if (Array.isArray(value)) {
        checkElements(value, left, path);
    }
    else {
        checkMembers(value, left, path);
    }
}
/** JSON. Throws TypeError with what is wrong, and where: `root` is the path of `value` itself. */
export function toJson(value, depthMax, ...root) {
    check(value, depthMax, root);
    return JSON.stringify(value);
}
/** As `toJson`, of what a sender can get as a result. */
export function resultToJson(result) {
    const text = toJson(result, resultDepthMax, 'result');
    if (Buffer.byteLength(text) > resultBytesMax) {
        throw new TypeError('the result is larger than 64 KiB: put it where the sender can fetch it');
    }
    return text;
}
/** A reason that can be sent, whatever it was made of: as much of it as the daemon keeps. */
export function printable(text) {
    const bytes = new TextEncoder().encode(text.slice(0, reasonBytesMax));
    // As a stream, so that half a character at the end is left out.
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, reasonBytesMax), { stream: true });
}
