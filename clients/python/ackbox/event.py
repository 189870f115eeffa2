"""An inbound message, as the daemon posts it or gives it to a stream: a CloudEvent."""

from __future__ import annotations

from typing import Any, Dict, Optional


class Event:
    """The members that an application works with; `raw` has all of them."""

    def __init__(self, raw: Dict[str, Any]) -> None:
        self.raw = raw
        self.id: str = raw["id"]
        self.source: str = raw["source"]
        self.type: str = raw.get("type", "")
        self.data: Any = raw.get("data")
        # Empty, and 0: the message is outside any session.
        self.session: str = raw.get("sessionid", "")
        self.origin: str = raw.get("sessionorigin", "")
        # Counters are text in JSON, as some parsers have no integers of 64 bits.
        self.sequence: int = int(raw.get("sessionseq", 0))
        self.correlation_id: Optional[str] = raw.get("correlationid")
        self.traceparent: Optional[str] = raw.get("traceparent")
        # An operator of the sender sends a message again, whose id this is: `id`, or that of the one it is a copy of.
        self.resent_of: Optional[str] = raw.get("resentof")

    def __repr__(self) -> str:
        place = " %s/%d" % (self.session, self.sequence) if self.sequence else ""
        return "<%s %s %s of %s%s>" % (type(self).__name__, self.type, self.id, self.source, place)
