"""What a test does when a component it needs is not on this machine."""

import os
from typing import NoReturn

import pytest


def unavailable(reason: str) -> NoReturn:
    """Skip the test, saying why; with CI set fail instead, because there a missing component is a fault of ours."""
    if os.environ.get("CI"):
        pytest.fail(f"needed in CI: {reason}", pytrace=False)
    pytest.skip(reason)
