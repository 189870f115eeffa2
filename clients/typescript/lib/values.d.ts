export declare const dataDepthMax = 62;
/** Names of members and indexes, from the outside to the value. */
type Path = (string | number)[];
/** JSON. Throws TypeError with what is wrong, and where: `root` is the path of `value` itself. */
export declare function toJson(value: unknown, depthMax: number, ...root: Path): string;
/** As `toJson`, of what a sender can get as a result. */
export declare function resultToJson(result: unknown): string;
/** A reason that can be sent, whatever it was made of: as much of it as the daemon keeps. */
export declare function printable(text: string): string;
export {};
