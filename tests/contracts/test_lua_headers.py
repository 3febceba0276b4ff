"""The header of a script is its contract: with the loader, with the Python call, and with what its body touches."""

import re
from functools import lru_cache
from pathlib import Path

import pytest

from leaseforge.jobs import JobState
from leaseforge.keys import QUEUE_KEYS, SYSTEM, queue_key
from leaseforge.scripts import ENGINE, Header, Library, parse_header
from tests.support.sample_calls import PARTS, QUEUE, sample_calls

ROOT = Path(__file__).parents[2]
ENGINE_FOLDER = ROOT / "engine/leaseforge/lua"
FOLDERS = [ENGINE_FOLDER, *sorted(ROOT.glob("*/leaseforge_*/lua"))]
SCRIPTS = [
    (folder, path.stem) for folder in FOLDERS for path in sorted(folder.glob("*.lua")) if not path.stem.startswith("_")
]
CALLS = sample_calls()
OF_NO_QUEUE = {"add_stats", "bulk_create", "bulk_steer", "bulk_note", "bulk_read", "bulk_list"}
MAY_REFUSE_ON_A_FULL_SERVER = {"enqueue"}
TYPES = {"none", "hash", "zset", "list", "string", "set", "stream"}
_HEADER_KEY = re.compile(r"^-- KEYS\[\d+\] +(\w+) +(\w+) ", re.MULTILINE)
_FUNCTION = re.compile(r"^local function (\w+)\(([^)]*)\)\n(.*?)^end$", re.MULTILINE | re.DOTALL)

each_script = pytest.mark.parametrize(
    ("folder", "name"), SCRIPTS, ids=[f"{folder.parent.name}-{name}" for folder, name in SCRIPTS]
)


@lru_cache
def library(folder: Path) -> Library:
    return ENGINE if folder == ENGINE_FOLDER else Library(folder, base=ENGINE)


@lru_cache
def header(folder: Path, name: str) -> Header:
    return parse_header(library(folder).source(name))


def body(source: str) -> str:
    """The code, without comments."""
    return re.sub(r"--.*$", "", source, flags=re.MULTILINE)


def functions(source: str) -> dict[str, str]:
    """The bodies of a file's functions by name."""
    return {name: code for name, _, code in _FUNCTION.findall(body(source))}


def code_of(folder: Path, name: str) -> str:
    """The code of a script and of the transitions it is composed of."""
    parts = [part for part in header(folder, name).uses if part != "_queue"]
    return "\n".join(body(library(folder).source(part)) for part in (name, *parts))


def _own_parts(folder: Path, name: str) -> list[str]:
    """What a script shares with a few others, beside what all scripts of a queue share."""
    return [part for part in header(folder, name).uses if part.startswith("_") and part != "_queue"]


def keys_touched(folder: Path, name: str) -> set[str]:
    """The names behind K. in a script, in every shared function it reaches, and in what the loader adds."""
    lib = library(folder)
    reachable = functions("\n".join(lib.source(part) for part in (name, *_own_parts(folder, name))))
    if "flush(K)" in lib.load(name).text.splitlines():
        reachable["loader"] = "flush(K)"
    shared = {known: code for part in header(folder, name).uses for known, code in functions(lib.source(part)).items()}
    while True:
        called = {
            known
            for known in shared
            if known not in reachable
            and any(re.search(rf"\b{known}\(|\bpart\({known},", code) for code in reachable.values())
        }
        if not called:
            break
        reachable |= {known: shared[known] for known in called}
    return {key for code in reachable.values() for key in re.findall(r"\bK\.(\w+)", code)}


@each_script
def test_every_script_says_what_it_does_takes_returns_and_needs(folder: Path, name: str) -> None:
    source = library(folder).source(name)
    parsed = parse_header(source)

    assert source.startswith(f"-- {name}: ")
    assert re.search(r"^-- returns \S", source, re.MULTILINE)
    assert parsed.keys
    kinds = _HEADER_KEY.findall(source)
    assert [key for key, _ in kinds] == list(parsed.keys)
    assert {kind for _, kind in kinds} <= TYPES
    assert f"local function {name}(K, A)" in source


@each_script
def test_every_script_runs_on_a_full_server_but_enqueue(folder: Path, name: str) -> None:
    script = library(folder).load(name)
    flags = script.header.flags

    if name in MAY_REFUSE_ON_A_FULL_SERVER and folder == ENGINE_FOLDER:
        assert flags == ""
        assert script.text.startswith("#!lua\n")
    else:
        assert flags in ("allow-oom", "no-writes")
        assert script.text.startswith(f"#!lua flags={flags}\n")


@each_script
def test_every_script_reads_the_clock_once_and_first(folder: Path, name: str) -> None:
    calls = re.findall(r"redis\.p?call\(\s*([^,)]+)", library(folder).load(name).text)

    assert calls[0] == "'TIME'"
    assert "'TIME'" not in calls[1:]


@each_script
def test_no_script_walks_the_key_space_or_trusts_luas_own_number_text(folder: Path, name: str) -> None:
    code = body(library(folder).source(name))

    assert not re.search(r"'(KEYS|SCAN|SSCAN|HSCAN|ZSCAN|RANDOMKEY|FLUSHDB|FLUSHALL)'", code)
    assert not re.search(r"\.\. *(NOW|NOW_US)\b|\b(NOW|NOW_US) *\.\.", code)
    # The one conversion left is of an error that pcall caught.
    assert re.findall(r"tostring\((\w+)\)", code) == (["reply"] if name == "exchange" else [])


@each_script
def test_every_key_a_script_touches_is_declared_and_every_declared_one_is_touched(folder: Path, name: str) -> None:
    declared = set(header(folder, name).keys)
    touched = keys_touched(folder, name)

    assert touched <= declared
    by_state = set(JobState) if "K[" in code_of(folder, name) else set()
    assert declared - {"guard"} - by_state <= touched


@each_script
def test_what_a_script_counts_is_written(folder: Path, name: str) -> None:
    counts = re.search(r"\bcount(_duration)?\(|\bquarantine\(", code_of(folder, name)) is not None

    assert counts == ("flush(K)" in library(folder).load(name).text.splitlines())


@each_script
def test_a_composed_script_declares_every_key_of_its_parts(folder: Path, name: str) -> None:
    declared = header(folder, name)

    for part in declared.uses:
        if not part.startswith("_"):
            assert set(header(folder, part).keys) <= set(declared.keys)


def test_a_key_has_one_type_whichever_header_names_it() -> None:
    kinds: dict[str, set[str]] = {}
    for path in ENGINE_FOLDER.glob("*.lua"):
        for key, kind in _HEADER_KEY.findall(path.read_text("utf-8")):
            kinds.setdefault(key, set()).add(kind)

    assert {key: found for key, found in kinds.items() if len(found) != 1} == {}


def test_every_script_of_the_engine_has_a_call_here() -> None:
    assert set(ENGINE.names()) == CALLS.keys() | PARTS


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_call_gives_keys_and_arguments_in_the_headers_order(name: str) -> None:
    call = CALLS[name]
    declared = call.script.header

    assert call.script.name == name
    assert tuple(key for key, _ in call.keys) == declared.keys
    assert tuple(arg for arg, _ in call.args) == declared.args
    if declared.repeated:
        assert call.rest
        assert len(call.rest) % len(declared.repeated) == 0
    else:
        assert not call.rest


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_key_of_a_call_is_the_one_its_name_says_and_all_lie_in_one_slot(name: str) -> None:
    call = CALLS[name]

    owner = SYSTEM if name in OF_NO_QUEUE else QUEUE
    assert {key: value for key, value in call.keys if key in QUEUE_KEYS and value != queue_key(owner, key)} == {}
    assert len({re.match(r"lf:\{[^}]+\}:", value)[0] for _, value in call.keys}) == 1  # type: ignore[index]  # no match fails


@each_script
def test_a_script_reads_exactly_the_arguments_its_header_names(folder: Path, name: str) -> None:
    declared = header(folder, name)
    code = body(library(folder).source(name))
    fixed, group = len(declared.args), len(declared.repeated)

    numbered = {int(number) for number in re.findall(r"\bA\[(\d+)\]", code)}
    assert numbered <= set(range(1, fixed + 1))
    if "A[A" not in code:
        assert numbered == set(range(1, fixed + 1))
    loops = re.findall(r"for i = (\d+), #A(?:, (\d+))? do", code)
    tails = re.findall(r"unpack\(A, (\d+)\)", code)
    assert {(int(first), int(step or 1)) for first, step in loops} <= {(fixed + 1, group)}
    assert {int(first) for first in tails} <= {fixed + 1}
    assert bool(loops or tails) == bool(group)


def test_what_composed_scripts_pass_on_is_what_their_parts_take() -> None:
    exchange, tick = (header(ENGINE_FOLDER, name) for name in ("exchange", "tick"))
    settle, claim, recover, promote, trim = (
        header(ENGINE_FOLDER, name) for name in ("settle", "claim", "recover", "promote", "trim")
    )

    assert exchange.args == claim.args
    assert exchange.repeated == settle.repeated
    assert promote.args == tick.args[:1]
    assert recover.args == tick.args[:5]
    assert trim.args == tick.args[:1] + tick.args[5:]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- KEYS[2] guard none x\n", "KEYS are not numbered"),
        ("-- KEYS[1] a none x\n-- KEYS[1] b none x\n", "KEYS are not numbered"),
        ("-- ARGV[2] id text\n", "ARGV are not numbered"),
        ("-- ARGV[1...] id text\n-- ARGV[2] more text\n", "only the last ARGV may repeat"),
    ],
)
def test_a_header_with_a_gap_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_header(text)
