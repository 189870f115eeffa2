/** What an option may be. */
export type Kind = 'string' | 'boolean' | 'number' | 'integer' | 'instant' | 'json' | 'signal';
/** Throws TypeError for a value that is not of this kind. A text is not shown. */
export declare function checkKind(name: string, value: unknown, kind: Kind): void;
/** Throws TypeError for an option that `kinds` does not have, or of another kind. What is undefined is absent. */
export declare function checkOptions(given: unknown, kinds: Readonly<Record<string, Kind>>, what: string): void;
