"""Verifies requests that the daemon pushes (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from typing import Iterable, Mapping, Optional, Union

from .errors import SignatureInvalid
from .event import Event
from .times import Seconds, seconds
from .values import from_json


def _key(secret: str) -> bytes:
    text = secret.strip()
    if text.startswith("whsec_"):
        text = text[len("whsec_") :]
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("a secret must be whsec_ and base64")
    return key


def verify_webhook(
    secrets: Union[str, Iterable[str]],
    headers: Mapping[str, str],
    body: bytes,
    tolerance: Seconds = 300.0,
    now: Optional[float] = None,
) -> Event:
    """The event of a request, if its signature is by one of `secrets` (`whsec_…`) and not older than `tolerance`.

    `body` must be the bytes that came. Raises `SignatureInvalid`. A request that is repeated within the tolerance is
    valid: `apply` recognises it. Ed25519 keys (`whpk_`) are not supported, as the standard library has none.
    """
    tolerance_seconds = seconds(tolerance, "tolerance")
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    fields = {name.lower(): value for name, value in headers.items()}
    message_id = fields.get("webhook-id", "")
    timestamp = fields.get("webhook-timestamp", "")
    signatures = fields.get("webhook-signature", "")
    if not (message_id + timestamp + signatures).isascii():
        raise SignatureInvalid("the headers of the signature are not ASCII")
    if not message_id or not timestamp or not signatures:
        raise SignatureInvalid("the request is not signed")
    if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12:
        raise SignatureInvalid("webhook-timestamp is no number")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_seconds:
        raise SignatureInvalid("webhook-timestamp is too far from this machine's clock")
    content = message_id.encode() + b"." + timestamp.encode() + b"." + body
    expected = [base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()) for key in keys]
    given = [part[3:].encode() for part in signatures.split() if part.startswith("v1,")]
    # All are compared, so that the time shows nothing.
    matches = [hmac.compare_digest(one, other) for one in expected for other in given]
    if not any(matches):
        raise SignatureInvalid("no signature is by a known key")
    try:
        raw = from_json(body)
    except ValueError:
        raw = None
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str) or not isinstance(raw.get("source"), str):
        raise SignatureInvalid("the body is no CloudEvent")
    return Event(raw)
