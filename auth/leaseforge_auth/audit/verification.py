"""Checks the audit trail from its anchor to its head."""

from dataclasses import dataclass

from leaseforge.store import Store
from leaseforge_auth.audit import calls
from leaseforge_auth.audit.chain import Chain, Head

MAX_FINDINGS = 1_000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was written: where, and what."""

    sequence: int
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found. `checked` entries were read; `head` is worth noting down outside of Redis."""

    checked: int
    first: int
    head: Head
    findings: tuple[Finding, ...]
    foreign: int = 0
    """Entries sealed with a key that is not among ours."""

    @property
    def is_intact(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings


async def verify(store: Store, chain: Chain, *, expected: Head | None = None) -> Verdict:
    """Reads the whole trail and checks every seal and every link.

    `expected` is a head noted down earlier: the entry of that sequence must still be there with that very seal, or
    have been dropped for its age.
    """
    # The entries first: those dropped before the anchor is read are then older than it, and passed over.
    stretch = await store.run(calls.read_on(0))
    state = await store.run(calls.read_state())
    findings: list[Finding] = []
    if not chain.is_anchor(state.anchor):
        findings.append(Finding(state.anchor.sequence, "the anchor the trail begins behind was not made by us"))
    before, checked, first, foreign = state.anchor, 0, 0, 0
    has_seen_expected = expected is None or expected.sequence <= state.anchor.sequence
    is_linked = True
    while len(findings) < MAX_FINDINGS:
        for stored in stretch.entries:
            if stored.sequence <= before.sequence:
                continue
            checked += 1
            first = first or stored.sequence
            if stored.sequence != before.sequence + 1:
                findings.append(Finding(before.sequence + 1, _missing(before.sequence + 1, stored.sequence - 1)))
                is_linked = False
            if not chain.knows(stored.kid):
                foreign += 1
                findings.append(Finding(stored.sequence, f"sealed with an unknown key ({stored.kid or 'none'})"))
            elif is_linked and chain.mac(before.mac, stored.sequence, stored.body, kid=stored.kid) != stored.mac:
                findings.append(Finding(stored.sequence, "altered, or not in its place"))
            if expected is not None and stored.sequence == expected.sequence:
                has_seen_expected = True
                if stored.mac != expected.mac:
                    findings.append(Finding(stored.sequence, "not the entry that was noted down as the head"))
            # Behind a gap the first link cannot be checked; the next ones can.
            before, is_linked = Head(stored.sequence, stored.mac), True
        if len(stretch.entries) < calls.MOST_AT_ONCE:
            break
        stretch = await store.run(calls.read_on(before.sequence))
    newest = await store.run(calls.read_state())
    findings += _at_the_end(chain, newest.head, before, has_grown=newest.head != state.head)
    if not has_seen_expected and expected is not None:
        findings.append(Finding(expected.sequence, "the entry that was noted down as the head is not there any more"))
    return Verdict(checked, first, newest.head, tuple(findings[:MAX_FINDINGS]), foreign)


def _missing(first: int, last: int) -> str:
    return "missing" if first == last else f"missing, and all up to {last}"


def _at_the_end(chain: Chain, head: Head, last: Head, *, has_grown: bool) -> list[Finding]:
    """Entries may be added while we read; without that the last one read has to be the head."""
    if head == Head() and last == Head():
        return []
    findings = []
    if not chain.is_head(head):
        findings.append(Finding(head.sequence, "the head of the trail was not made by us"))
    if head.sequence > last.sequence and not has_grown:
        findings.append(Finding(last.sequence + 1, _missing(last.sequence + 1, head.sequence)))
    elif head.sequence == last.sequence and head.mac != last.mac:
        findings.append(Finding(head.sequence, "the head names another entry than the last one"))
    elif head.sequence < last.sequence:
        findings.append(Finding(last.sequence, "newer than the head of the trail"))
    return findings
