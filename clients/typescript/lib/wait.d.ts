/** How long to wait after so many failures in a row: doubling, and drawn, so that clients do not come together. */
export declare function pauseAfter(failures: number): number;
/** Resolves after the time, or when `signal` is aborted. */
export declare function wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
