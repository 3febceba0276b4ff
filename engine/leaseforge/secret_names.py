"""Names under which secrets are kept: their values are neither shown nor logged."""

import re
from typing import Any

MASK = "[masked]"
_NOT_A_WORD = re.compile(r"[^a-z0-9]")
_SECRET = re.compile(
    r"passw|passphrase|pwd|secret|token|apikey|accesskey|privatekey|signingkey|encryptionkey|credential|authorization"
    r"|bearer|cookie|sessionid|connectionstring|dsn$|cvv|cvc|cardnumber|iban|ssn$|^auth$|^pin$|^otp$"
)


def is_secret(name: str, value: Any) -> bool:
    """Whether a value under this name is masked, wherever it is shown; case and punctuation do not matter."""
    word = _NOT_A_WORD.sub("", name.lower())
    if value is None or isinstance(value, bool) or value == "" or not _SECRET.search(word):
        return False
    # `max_tokens: 400` is a limit, not a credential.
    return not ("token" in word and isinstance(value, int | float))
