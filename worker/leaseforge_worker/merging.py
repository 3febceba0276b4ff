"""The figures of several processes on one page."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families


def merged(pages: Mapping[str, str], own: Iterable[Metric] = ()) -> bytes:
    """One page in Prometheus' text format: `own`, then every series of every page with the label `process`.

    `pages` maps a process's number to its page. Nothing is added up: sums over the label are right for counters and
    histograms, and only the reader knows what to make of a gauge. HELP and TYPE stand once; where two pages disagree
    about a family, the first decides.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families([*own, *_labelled(pages)]))
    return generate_latest(registry)


def _labelled(pages: Mapping[str, str]) -> Iterable[Metric]:
    families: dict[str, Metric] = {}
    for process, page in pages.items():
        for family in text_string_to_metric_families(page):
            whole = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            whole.samples += [
                sample._replace(labels={"process": process, **sample.labels}) for sample in family.samples
            ]
    return families.values()


class _Families:
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families
