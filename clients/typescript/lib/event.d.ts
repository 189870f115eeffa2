/** What JSON.parse gives. */
export type Json = null | boolean | number | string | Json[] | {
    [name: string]: Json;
};
/** The members that an application works with; `raw` has all of them. */
export declare class Event {
    readonly raw: Readonly<Record<string, Json>>;
    readonly id: string;
    readonly source: string;
    readonly type: string;
    /** Numbers above 2^53 lose digits, as in every JSON.parse: send them as text. */
    readonly data: Json;
    /** Empty, as `origin`: the message is outside any session. */
    readonly session: string;
    readonly origin: string;
    /** 0n: outside any session. A bigint, as numbers above 2^53 would lose digits; `JSON.stringify` needs `String(sequence)`. */
    readonly sequence: bigint;
    readonly correlationId: string | undefined;
    readonly traceparent: string | undefined;
    /** An operator of the sender sends a message again, whose id this is: `id`, or that of the message of which this is a copy. */
    readonly resentOf: string | undefined;
    constructor(raw: Record<string, Json>);
}
