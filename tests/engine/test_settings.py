"""Settings from the environment: every problem at once, and no secret in any text of ours."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from leaseforge.errors import SettingsError
from leaseforge.settings import EngineSettings, address, declared, flag, one_of, read, seconds, setting, whole


@dataclass(frozen=True, slots=True)
class Sample:
    name: str = setting("SAMPLE_NAME", help="who")
    slots: int = setting("SAMPLE_SLOTS", default=4, parse=whole(1, 10), help="how many")
    pause_s: float = setting("SAMPLE_PAUSE", default=1.5, parse=seconds(0, 3600), help="how long")
    word: str = setting("SAMPLE_WORD", default="", help="the key", secret=True)


def test_defaults_stand_where_nothing_is_set() -> None:
    sample = read(Sample, {"SAMPLE_NAME": "ada", "SAMPLE_SLOTS": ""})

    assert sample == Sample("ada", 4, 1.5, "")


def test_every_wrong_variable_is_told_at_once_by_its_name() -> None:
    with pytest.raises(SettingsError) as refused:
        read(Sample, {"SAMPLE_SLOTS": "eleven", "SAMPLE_PAUSE": "-1"})

    assert [problem.field for problem in refused.value.problems] == ["SAMPLE_NAME", "SAMPLE_SLOTS", "SAMPLE_PAUSE"]
    assert "is required: who" in str(refused.value)


def test_a_secret_may_stand_in_a_file_and_is_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "word"
    file.write_text("open sesame\n")

    sample = read(Sample, {"SAMPLE_NAME": "ada", "SAMPLE_WORD_FILE": str(file)})

    assert sample.word == "open sesame"
    assert "sesame" not in repr(sample)


@pytest.mark.parametrize(
    "environ",
    [
        {"SAMPLE_NAME": "ada", "SAMPLE_WORD_FILE": "/no/such/file"},
        {"SAMPLE_NAME": "ada", "SAMPLE_WORD": "x", "SAMPLE_WORD_FILE": "/etc/hostname"},
    ],
    ids=["missing", "twice"],
)
def test_a_secret_that_cannot_be_had_is_a_problem(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="SAMPLE_WORD"):
        read(Sample, environ)


@pytest.mark.parametrize(
    ("text", "value"), [("30", 30.0), ("1.5", 1.5), ("2m", 120.0), ("1h", 3600.0), (" 5s ", 5.0), ("0", 0.0)]
)
def test_seconds_may_have_a_unit(text: str, value: float) -> None:
    assert seconds(0, 3600)(text) == value


@pytest.mark.parametrize("text", ["", "x", "s", "2h", "-1", "nan", "inf", "1 2", "1w"])
def test_other_seconds_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be from 0 to 3600 seconds"):
        seconds(0, 3600)(text)


@pytest.mark.parametrize("text", ["", "x", "1.0", "0", "11", "--5", "1e1"])
def test_other_whole_numbers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a whole number from 1 to 10"):
        whole(1, 10)(text)


def test_words_flags_and_addresses() -> None:
    assert [flag(text) for text in ("1", "Yes", "off", " false ")] == [True, True, False, False]
    assert one_of("a", "b")("b") == "b"
    assert address("127.0.0.1:80") == ("127.0.0.1", 80)
    assert address("[::1]:80") == ("::1", 80)
    assert address(":80") == ("0.0.0.0", 80)
    for parse, text in ((flag, "maybe"), (one_of("a"), "c"), (address, "80:x"), (address, "h:70000"), (address, "h")):
        with pytest.raises(ValueError, match="must be"):
            parse(text)


def test_a_wrong_redis_url_is_told_without_its_password() -> None:
    with pytest.raises(SettingsError) as refused:
        read(EngineSettings, {"LEASEFORGE_REDIS_URL": "http://:secret-word@cache"})

    assert "LEASEFORGE_REDIS_URL" in str(refused.value)
    assert "secret-word" not in str(refused.value)
    assert "secret-word" not in repr(read(EngineSettings, {"LEASEFORGE_REDIS_URL": "redis://:secret-word@cache"}))


def test_every_setting_says_what_it_is_for() -> None:
    assert all(known.help and known.env.startswith("LEASEFORGE_") for known in declared(EngineSettings).values())
