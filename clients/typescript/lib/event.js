// An inbound message, as the daemon posts it or gives it to a stream: a CloudEvent.
/** The members that an application works with; `raw` has all of them. */
export class Event {
    raw;
    id;
    source;
    type;
    /** Numbers above 2^53 lose digits, as in every JSON.parse: send them as text. */
    data;
    /** Empty, as `origin`: the message is outside any session. */
    session;
    origin;
    /** 0n: outside any session. A bigint, as numbers above 2^53 would lose digits; `JSON.stringify` needs `String(sequence)`. */
    sequence;
    correlationId;
    traceparent;
    /** An operator of the sender sends a message again, whose id this is: `id`, or that of the message of which this is a copy. */
    resentOf;
    constructor(raw) {
        const text = (name) => (typeof raw[name] === 'string' ? raw[name] : undefined);
        this.raw = raw;
        this.id = text('id') ?? '';
        this.source = text('source') ?? '';
        this.type = text('type') ?? '';
        this.data = raw['data'] ?? null;
        this.session = text('sessionid') ?? '';
        this.origin = text('sessionorigin') ?? '';
        // Counters are text in JSON, as some parsers, this one too, have no integers of 64 bits.
        const sequence = raw['sessionseq'];
        this.sequence = typeof sequence === 'string' || typeof sequence === 'number' ? BigInt(sequence) : 0n;
        this.correlationId = text('correlationid');
        this.traceparent = text('traceparent');
        this.resentOf = text('resentof');
    }
}
