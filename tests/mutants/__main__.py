"""`make mutants`: puts each mutant into a copy of the engine and shows which test notices.

    python -m tests.mutants [words of names ...]

Exits 1 if one survives, was made for other code, or if the tests fail without any.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.catalogue import ALL
from tests.mutants.mutant import Mutant, StaleMutant, apply, restore

ROOT = Path(__file__).parents[2]
_OPTIONS = ("-x", "-m", "not soak", "-p", "anyio", "-p", "pytest_timeout", "-p", "no:cacheprovider")
NOTICED = 1
"""pytest's exit code when tests failed; any other but 0 says that they did not run."""


class Lab:
    """A copy of the engine that comes first on the path of the tests."""

    def __init__(self, folder: Path) -> None:
        self.engine = folder / "leaseforge"
        shutil.copytree(ROOT / "engine" / "leaseforge", self.engine, ignore=shutil.ignore_patterns("__pycache__"))
        # Plugins cost more than most tests here; the named ones are all that these need.
        self.env = os.environ | {"PYTHONPATH": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def check_path(self) -> None:
        """Raises unless tests would import the copy."""
        where = self._run("-c", "import leaseforge; print(leaseforge.__file__)").stdout.strip()
        if Path(where).parent != self.engine:
            raise SystemExit(f"tests would import {where}, not the copy in {self.engine}")

    def test(self, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return self._run("-m", "pytest", *_OPTIONS, *tests)

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=self.env, capture_output=True, text=True, check=False, timeout=900
        )


def main(words: Sequence[str]) -> int:
    chosen = [mutated for mutated in ALL if all(word in mutated.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="leaseforge-mutants-") as folder:
        lab = Lab(Path(folder))
        lab.check_path()
        everything = sorted({test for mutated in chosen for test in mutated.tests})
        print(f"{len(chosen)} mutants; without any, {len(everything)} test files must pass ...", flush=True)
        sound = lab.test(everything)
        if sound.returncode:
            print(sound.stdout[-5000:], sound.stderr[-2000:], sep="\n")
            return 1
        missed = [mutated for mutated in chosen if not _is_noticed(lab, mutated)]
    print(f"\n{len(chosen) - len(missed)} of {len(chosen)} noticed" + "".join(f"\n  NOT: {one.name}" for one in missed))
    return 1 if missed else 0


def _is_noticed(lab: Lab, mutated: Mutant) -> bool:
    started = time.monotonic()
    try:
        before = apply(mutated, lab.engine)
    except StaleMutant as stale:
        print(f"  STALE     {stale}", flush=True)
        return False
    try:
        done = lab.test(mutated.tests)
    finally:
        restore(before)
    found = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", done.stdout, re.MULTILINE)
    is_noticed = done.returncode == NOTICED and found is not None
    by = found[1] if is_noticed and found else f"exit code {done.returncode}"
    word = "noticed" if is_noticed else "SURVIVED"
    print(f"  {word:9} {mutated.name:48} {time.monotonic() - started:5.1f} s  {by[:110]}", flush=True)
    return is_noticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
