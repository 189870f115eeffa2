import type { Frame } from './stream.js';
/** Works on a frame and settles it. */
export type Handler = (frame: Frame) => unknown;
/** One for all, or by type, with `*` for all other types. */
export type Handlers = Handler | Readonly<Record<string, Handler>>;
/** Settles what its handlers do not. */
export declare class Router {
    #private;
    constructor(handlers: unknown);
    /** Gives the frame to its handler. Throws what the handler threw where the frame cannot be settled, and what a settlement does. */
    workOn(frame: Frame): Promise<void>;
}
