"""The rules of the templates, each with something planted that breaks it: a rule that finds nothing guards nothing."""

import re
from collections.abc import Callable

import pytest

from leaseforge_console.assets import asset_dir

TEMPLATES = asset_dir("templates")
NAMES = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html"))
Rule = Callable[[str, str], list[str]]
_CONTROL = re.compile(r"<(?:input|select|textarea)\b[^>]*>")
_OWN = ("pages/account/", "partials/account/", "partials/credentials/", "partials/shared/views", "pages/views/")
"""What everybody may do to what is their own."""
_ADDRESS = re.compile(r'\b(?:href|src|action|hx-get|hx-post|hx-sse:connect)="([^"]*)"')
_GOOD_ADDRESS = ("{{ link(", "{{ static(", "{{ server(", "{{ elsewhere(", "#")


def nothing_inline(_name: str, text: str) -> list[str]:
    """No style or script in the page itself: the policy would refuse it, and data could become one."""
    found = re.findall(r"\sstyle\s*=|<style\b|\son[a-z]+\s*=", text)
    return found + [tag for tag in re.findall(r"<script\b[^>]*>", text) if ' src="{{ static(' not in tag]


def nothing_marked_safe(_name: str, text: str) -> list[str]:
    """Everything is escaped."""
    return re.findall(r"\|\s*safe\b|\bMarkup\b|\bautoescape\b", text)


def nothing_evaluated(_name: str, text: str) -> list[str]:
    """Nothing htmx would have to evaluate: handlers, computed values, filters of triggers."""
    return re.findall(r"hx-on\b|\bjs:|javascript:|hx-vals|hx-headers|hx-trigger=\"[^\"]*\[", text)


def tokens_in_forms(_name: str, text: str) -> list[str]:
    """Every form that changes something carries the session's token."""
    forms = re.findall(r"<form\b.*?</form>", text, re.DOTALL)
    posting = [form for form in forms if 'method="post"' in form or "posts_to(" in form]
    return [form[:80] for form in posting if "token(frame)" not in form and "link('/login')" not in form]


def labelled_controls(_name: str, text: str) -> list[str]:
    """Every control says what it is for."""
    labelled = set(re.findall(r'<label[^>]* for="([^"]+)"', text))
    bare = []
    for tag in _CONTROL.findall(text):
        identity = re.search(r'\bid="([^"]+)"', tag)
        is_told = 'type="hidden"' in tag or "aria-label=" in tag or (identity and identity[1] in labelled)
        bare += [] if is_told else [tag]
    return bare


def permitted_actions(name: str, text: str) -> list[str]:
    """What changes something stands behind a question for the permission."""
    acts = re.search(r"\{\{ action\(|asks_at\(", text)
    is_checked = "frame.can(" in text or name.startswith(_OWN) or name == "macros/ui.html"
    return [acts[0]] if acts and not is_checked else []


def addresses_with_prefix(_name: str, text: str) -> list[str]:
    """Addresses go through the functions that know the installation's prefix."""
    return [found for found in _ADDRESS.findall(text) if found and not found.startswith(_GOOD_ADDRESS)]


def nothing_timed(name: str, text: str) -> list[str]:
    """No page goes away under whoever reads it; the one that leads to the provider has nothing else to show."""
    return [] if name == "pages/logged_out.html" else re.findall(r"http-equiv=[\"']?refresh", text, re.IGNORECASE)


RULES: dict[Rule, tuple[str, ...]] = {
    nothing_inline: (
        '<p style="color: red">',
        "<style>p {}</style>",
        '<a onclick="x()">',
        "<script>x()</script>",
        '<script src="/x.js"></script>',
    ),
    nothing_marked_safe: ("{{ job.error|safe }}", "{{ Markup(job.error) }}", "{% autoescape false %}"),
    nothing_evaluated: (
        '<p hx-on:click="x()">',
        '<p hx-vals="js:x()">',
        '<a href="javascript:x()">',
        '<p hx-trigger="click[ctrlKey]">',
    ),
    nothing_timed: ('<noscript><meta http-equiv="refresh" content="3"></noscript>', "<meta HTTP-EQUIV=refresh>"),
    tokens_in_forms: (
        '<form method="post" action="x"></form>',
        '<form {{ posts_to("/x") }}>\n<button></button></form>',
    ),
    labelled_controls: (
        '<input name="q">',
        '<label for="a">A</label><select id="b"></select>',
        "<textarea></textarea>",
    ),
    permitted_actions: ('{{ action(frame, "/x", "Do it") }}', '<a {{ asks_at("/x") }}>Do it…</a>'),
    addresses_with_prefix: (
        '<a href="/console/jobs">',
        '<form action="https://elsewhere/">',
        '<a href="{{ job.url }}">',
    ),
}
GOOD = """<form {{ posts_to("/x") }}>{{ token(frame) }}<label for="a">A</label><input id="a" name="a"></form>
{% if frame.can("jobs:write") %}{{ action(frame, "/x", "Do it") }}{% endif %}
<a href="{{ link('/x') }}">{{ text }}</a>"""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_template_keeps_the_rule(rule: Rule) -> None:
    broken = {name: found for name in NAMES if (found := rule(name, (TEMPLATES / name).read_text(encoding="utf-8")))}

    assert len(NAMES) > 60
    assert not broken


@pytest.mark.parametrize(
    ("rule", "planted"),
    [(rule, planted) for rule, violations in RULES.items() for planted in violations],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_rule_finds_what_is_planted(rule: Rule, planted: str) -> None:
    assert rule("pages/planted.html", f"<p>{planted}</p>")
    assert not rule("pages/planted.html", GOOD)
