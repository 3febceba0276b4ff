"""Text cut to a number of bytes."""


def cut(text: str, most: int, *, keep_end: bool = False) -> str:
    """At most `most` bytes of UTF-8 of `text`, never half a character: its beginning, or its end."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return raw.decode()
    mark = "…".encode()
    kept = mark + raw[len(mark) - most :] if keep_end else raw[: most - len(mark)] + mark
    return kept.decode("utf-8", "ignore")
