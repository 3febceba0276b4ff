"""The token of /metrics as a setting: nothing that could be guessed or cannot be sent."""

import pytest

from leaseforge.metrics_token import is_bearer, metrics_token


@pytest.mark.parametrize(
    "text", ["", "short", "fifteen-letters", "with a space in the middle", "mit-Umläuten-und-mehr"]
)
def test_a_token_that_cannot_be_one_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="at least 16 visible ASCII characters"):
        metrics_token(text)


def test_a_token_is_taken_without_the_line_end_of_its_file() -> None:
    assert metrics_token("a-token-for-scrapers\n") == "a-token-for-scrapers"


@pytest.mark.parametrize(
    ("header", "fits"),
    [
        ("Bearer a-token-for-scrapers", True),
        ("bearer  a-token-for-scrapers", True),
        ("Basic a-token-for-scrapers", False),
        ("a-token-for-scrapers", False),
        ("Bearer a-token-for-scraper", False),
        ("Bearer ä-token-for-scrapers", False),
        ("", False),
        (None, False),
    ],
)
def test_only_the_token_itself_opens(header: str | None, fits: bool) -> None:
    assert is_bearer(header, "a-token-for-scrapers") is fits
