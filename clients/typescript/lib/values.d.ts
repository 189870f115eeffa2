export declare const dataDepthMax = 62;
/** JSON. Throws TypeError with what is wrong. Half a surrogate pair is escaped. */
export declare function toJson(value: unknown, what: string, depthMax: number): string;
/** As `toJson`, of what a sender can get as a result. */
export declare function resultToJson(result: unknown): string;
/** A reason that can be sent, whatever it was made of. */
export declare function printable(text: string): string;
