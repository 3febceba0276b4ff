"""Names under which secrets are kept: their values are neither shown nor logged."""

import re
from functools import lru_cache
from typing import Any

MASK = "[masked]"
_SHORT = 64
_NOT_A_WORD = re.compile(r"[^a-z0-9]")
_SECRET = re.compile(
    r"passw|passphrase|pwd|secret|token|apikey|accesskey|privatekey|signingkey|encryptionkey|credential|authorization"
    r"|bearer|cookie|sessionid|connectionstring|dsn$|cvv|cvc|cardnumber|iban|ssn$|^auth$|^pin$|^otp$"
)


def is_secret(name: str, value: Any) -> bool:
    """Whether a value under this name is masked, wherever it is shown; case and punctuation do not matter."""
    if value is None or isinstance(value, bool) or value == "":
        return False
    is_secret_name, is_of_tokens = _known(name) if len(name) <= _SHORT else _read(name)
    # `max_tokens: 400` is a limit, not a credential.
    return is_secret_name and not (is_of_tokens and isinstance(value, int | float))


def _read(name: str) -> tuple[bool, bool]:
    """Whether it is a name for secrets, and whether it speaks of tokens."""
    word = _NOT_A_WORD.sub("", name.lower())
    return _SECRET.search(word) is not None, "token" in word


_known = lru_cache(4096)(_read)
"""Of short names: the same few come again and again."""
