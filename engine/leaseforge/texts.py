"""Text cut to a number of bytes."""


def cut(text: str, most: int, *, keep_end: bool = False) -> str:
    """At most `most` bytes of UTF-8 of `text`, never half a character: its beginning, or its end."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return raw.decode()
    mark = "…".encode() if most >= 3 else b""
    room = most - len(mark)
    kept = mark + raw[len(raw) - room :] if keep_end else raw[:room] + mark
    return kept.decode("utf-8", "ignore")
