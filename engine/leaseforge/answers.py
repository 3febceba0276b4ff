"""What the engine's scripts answer: a closed set, so that every caller can name every case."""

from enum import StrEnum


class Answer(StrEnum):
    """The outcome of one call on one job or queue. Any other reply is an engine fault."""

    OK = "ok"
    CREATED = "created"
    DUPLICATE = "duplicate"
    """The job was stored by an earlier, equal request; nothing was stored again."""
    REFUSED = "refused"
    FENCED = "fenced"
    """The token presented is not the job's: another claim, or an operator, has it. Nothing changed."""
    CANCELLED = "cancelled"
    """Renewed, but an operator wants the job to stop."""
    ALREADY_DONE = "already_done"
    """This very request was carried out before; nothing changed."""
    NOT_FOUND = "not_found"
    PAUSED = "paused"
    EMPTY = "empty"
    CONFLICT = "conflict"
    """The job's state does not allow the action; nothing changed."""
