"""Holds custom resources (JSON lines on stdin) to their operators' models; prints a list of what is wrong for each.

Runs by itself with .venv/crd-models on PYTHONPATH: the models are no part of the developer's environment.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from cloudcoil.models.keda.v1alpha1 import ScaledObject  # type: ignore[import-not-found]  # see above
from cloudcoil.models.prometheus_operator.v1 import (  # type: ignore[import-not-found]  # see above
    PrometheusRule,
    ServiceMonitor,
)

MODELS = {model.__name__: model for model in (ScaledObject, PrometheusRule, ServiceMonitor)}


def unknown(given: Any, understood: Any, path: str) -> Iterator[str]:
    """What was given and is not among what the model took: models pass over names they do not know."""
    if isinstance(given, dict) and isinstance(understood, dict):
        for name, value in given.items():
            if name not in understood:
                yield f"{path}.{name}: unknown"
            else:
                yield from unknown(value, understood[name], f"{path}.{name}")
    elif isinstance(given, list) and isinstance(understood, list) and len(given) == len(understood):
        for index, (one, other) in enumerate(zip(given, understood, strict=True)):
            yield from unknown(one, other, f"{path}[{index}]")
    elif given != understood:
        yield f"{path}: {given!r} is taken for {understood!r}"


def problems(resource: Any) -> list[str]:
    try:
        model = MODELS[resource["kind"]].model_validate(resource)
    except ValueError as error:
        return [str(error)]
    return list(unknown(resource, model.model_dump(by_alias=True, exclude_unset=True, mode="json"), resource["kind"]))


for line in sys.stdin:
    print(json.dumps(problems(json.loads(line))))
