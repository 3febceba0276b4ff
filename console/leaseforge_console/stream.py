"""The stream of updates one tab holds open: server-sent events that replace parts of the page.

Each update is a message with the parts that changed, then a `beat` that tells how old the values are. `trouble` says
that Redis did not answer, `gone` that what the page shows no longer exists. The stream of a session that was ended
ends, too: the browser asks again, is refused, and leads to the login.
"""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import msgspec
from litestar.response import Stream

from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.live import Listener, Live, Topic, Update
from leaseforge_console.views.snapshot import Snapshot

_PART = "<hx-partial"
LIFETIME_S = 120.0
"""A stream ends after this long and the browser asks again, which checks the session anew."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A page's live side: what is read, the template of the parts it replaces, and the view they are rendered from."""

    topic: Topic
    template: str
    place: Place
    view: Callable[[Snapshot, Any], object]


def stream(request: ConsoleRequest, console: Console, live: Live, watched: Watched) -> Stream:
    """The response that stays open. Raises TooManyStreams. A header keeps proxies from holding messages back."""
    listener = live.take(watched.topic, user=identity_of(request).username, session=request.auth)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    content = _messages(request, console, listener, watched)
    return Stream(content, media_type="text/event-stream", headers=headers)


async def _messages(
    request: ConsoleRequest, console: Console, listener: Listener, watched: Watched
) -> AsyncIterator[bytes]:
    sent: list[str] = []
    started: float | None = None
    yield event(comment="the console's live updates")
    async for update in listener.updates():
        if update is None:
            yield event(comment="still here")
            continue
        started = started or update.at
        parts = _parts(request, console, watched, update)
        if changed := [part for part, before in zip_longest(parts, sent[: len(parts)]) if part != before]:
            sent = parts
            yield event("".join(changed))
        yield _beat(update)
        if update.gone or update.at - started > LIFETIME_S:
            return


def _parts(request: ConsoleRequest, console: Console, watched: Watched, update: Update) -> list[str]:
    if update.trouble or update.gone or update.snapshot is None:
        return []
    page = watched.view(update.snapshot, update.data)
    text = console.update(request, watched.template, page, watched.place, update.snapshot)
    # The tag cannot come from data: there every `<` is escaped.
    return [_PART + part for part in text.split(_PART)[1:]]


def _beat(update: Update) -> bytes:
    if update.gone:
        return event("{}", name="gone")
    if update.trouble:
        return event(msgspec.json.encode({"text": update.trouble}).decode(), name="trouble")
    return event(msgspec.json.encode({"age_ms": update.age_ms}).decode(), name="beat")


def event(data: str | None = None, *, name: str | None = None, comment: str | None = None) -> bytes:
    """One server-sent event."""
    lines = []
    if comment is not None:
        lines.append(f": {comment}")
    if name is not None:
        lines.append(f"event: {name}")
    if data is not None:
        # The protocol knows these three ends of a line only; texts hold others.
        lines.extend(f"data: {line}" for line in re.split(r"\r\n|\r|\n", data))
    return ("\n".join(lines) + "\n\n").encode()
