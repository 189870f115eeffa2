// What a program gives that is misspelt or of a wrong type is refused before anything happens: JavaScript would ignore it.
const wanted = {
    string: 'a string',
    boolean: 'true or false',
    number: 'a number',
    integer: 'a whole number',
    instant: 'a Date, or whole milliseconds since 1970',
    json: 'JSON',
    signal: 'an AbortSignal',
};
const holds = {
    string: (value) => typeof value === 'string',
    boolean: (value) => typeof value === 'boolean',
    number: (value) => typeof value === 'number' && !Number.isNaN(value),
    integer: (value) => Number.isInteger(value),
    instant: (value) => value instanceof Date || Number.isInteger(value),
    json: () => true,
    signal: (value) => typeof value?.addEventListener === 'function',
};
/** How many letters must be put in, left out or replaced to make the one the other. */
function distance(one, other) {
    let row = Array.from({ length: other.length + 1 }, (_, index) => index);
    for (const [index, letter] of [...one].entries()) {
        const next = [index + 1];
        for (let column = 1; column <= other.length; ++column) {
            const replaced = (row[column - 1] ?? 0) + (other[column - 1] === letter ? 0 : 1);
            next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
        }
        row = next;
    }
    return row[other.length] ?? 0;
}
function hint(name, known) {
    const plain = (text) => text.slice(0, 64).toLowerCase().replace(/[_-]/g, '');
    const ranked = known.map((one) => ({ one, far: distance(plain(name), plain(one)) })).sort((a, b) => a.far - b.far);
    const [nearest] = ranked;
    return nearest && nearest.far <= Math.max(2, nearest.one.length / 3) ? `did you mean "${nearest.one}"?` : `it has ${known.join(', ')}`;
}
const named = (value) => (value === null ? 'null' : Number.isFinite(value) || Number.isNaN(value) ? String(value) : typeof value);
/** Throws TypeError for a value that is not of this kind. A text is not shown. */
export function checkKind(name, value, kind) {
    if (!holds[kind](value)) {
        throw new TypeError(`${name} must be ${wanted[kind]}, not ${named(value)}`);
    }
}
/** Throws TypeError for an option that `kinds` does not have, or of another kind. What is undefined is absent. */
export function checkOptions(given, kinds, what) {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
        throw new TypeError(`${what} takes its options as an object, not as ${Array.isArray(given) ? 'an array' : named(given)}`);
    }
    for (const [name, value] of Object.entries(given)) {
        const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
        if (kind === undefined) {
            throw new TypeError(`${what} has no option "${name}": ${hint(name, Object.keys(kinds))}`);
        }
        if (value !== undefined) {
            checkKind(name, value, kind);
        }
    }
}
