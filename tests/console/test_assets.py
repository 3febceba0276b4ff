import hashlib
from pathlib import Path

import pytest

from leaseforge_console.assets import StaticFiles, asset_dir
from tests.console.browsing import Visitor

PINNED = {
    "vendor/htmx.min.js": "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
    "vendor/hx-sse.min.js": "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103",
    "vendor/swagger-ui-bundle.js": "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
    "vendor/swagger-ui.css": "5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d",
}


@pytest.mark.parametrize("name", PINNED)
def test_vendored_scripts_are_the_ones_that_were_looked_at(name: str) -> None:
    content = (asset_dir("static") / name).read_bytes()

    assert hashlib.sha256(content).hexdigest() == PINNED[name]


def test_every_vendored_script_is_pinned_named_and_licensed() -> None:
    folder = asset_dir("static") / "vendor"

    assert {f"vendor/{path.name}" for path in folder.iterdir() if path.suffix in (".js", ".css")} == set(PINNED)
    told = (folder / "VENDOR.md").read_text(encoding="utf-8")
    assert all(Path(name).name in told for name in PINNED)
    assert all((folder / f"{name}.LICENSE.txt").stat().st_size > 100 for name in ("htmx", "swagger-ui"))


def test_an_address_changes_with_its_content_and_carries_the_prefix(tmp_path: Path) -> None:
    (tmp_path / "app.css").write_text("a{}")
    before = StaticFiles(tmp_path, root_path="/ops").url("app.css")
    (tmp_path / "app.css").write_text("b{}")
    after = StaticFiles(tmp_path, root_path="/ops").url("app.css")

    assert before != after
    assert after.startswith("/ops/static/")


async def test_a_static_file_is_kept_for_ever_by_browsers(stranger: Visitor) -> None:
    page = await stranger.get("/console/login")
    address = page.text.partition('rel="stylesheet" href="')[2].partition('"')[0]

    answer = await stranger.get(address)

    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    again = await stranger.get(address, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_an_older_address_still_works_but_is_not_kept(stranger: Visitor) -> None:
    answer = await stranger.get("/static/0123456789abcdef/app.css")

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", ["nothing.css", "../pyproject.toml", "%2e%2e/pyproject.toml", "vendor", ""])
async def test_nothing_else_is_served(stranger: Visitor, name: str) -> None:
    assert (await stranger.get(f"/static/0123456789abcdef/{name}")).status_code == 404
