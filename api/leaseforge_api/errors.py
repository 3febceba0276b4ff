"""What only an HTTP request can get wrong."""

from leaseforge.errors import LeaseforgeError


class UnsupportedContentType(LeaseforgeError):
    """The body is not declared as what this path reads. Browsers send other types across sites without asking."""

    def __init__(self, got: str) -> None:
        super().__init__(f"send the body as application/json, not as {got or 'a body without a content type'}")
        self.got = got


class TooBusy(LeaseforgeError):
    """More jobs are handed in than this process takes at a time; nothing was done."""
