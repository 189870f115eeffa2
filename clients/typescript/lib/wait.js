// Waiting, with an end.
const pauseFirst = 50;
const pauseMost = 5_000;
/** How long to wait after so many failures in a row: doubling, and drawn, so that clients do not come together. */
export function pauseAfter(failures) {
    return Math.min(pauseFirst * 2 ** Math.min(failures, 16), pauseMost) * (0.5 + Math.random() / 2);
}
/** Resolves after the time, or when `signal` is aborted. */
export function wait(milliseconds, signal) {
    return new Promise((resolve) => {
        if (signal?.aborted) {
            resolve();
            return;
        }
        const end = () => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', end);
            resolve();
        };
        const timer = setTimeout(end, milliseconds);
        signal?.addEventListener('abort', end);
    });
}
