"""What orchestrators and Prometheus ask, without login."""

import asyncio
from typing import Any

from litestar import Request, Response, Router, get
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from leaseforge.errors import StoreError
from leaseforge.metrics_token import is_bearer
from leaseforge.store import Store
from leaseforge_api.metrics import CONTENT_TYPE, Scrapes
from leaseforge_api.schemas.system import Alive, Health
from leaseforge_api.settings import ServerSettings
from leaseforge_auth.errors import NotAuthenticated
from leaseforge_auth.guards import public

# A Redis that hangs must not make the probe hang: orchestrators give up after a second or a few.
PATIENCE_S = 2.0


@get("/livez", sync_to_thread=False, **public())
def livez() -> Alive:
    """The process answers. Redis being away is no reason to restart it."""
    return Alive("ok")


@get("/health", **public())
async def health(store: NamedDependency[Store]) -> Response[Health]:
    """Whether the server can do its work: 503 without Redis."""
    return await _health(store, "ok")


@get("/ready", **public())
async def ready(state: State, store: NamedDependency[Store]) -> Response[Health]:
    """Whether requests should be sent here: 503 without Redis, and once the server was told to stop."""
    answer = await _health(store, "ready")
    if state.stop.is_set():
        return Response(Health("stopping", answer.content.redis), status_code=503)
    return answer


@get("/metrics", **public())
async def metrics(
    request: Request[Any, Any, Any],
    scrapes: NamedDependency[SkipValidation[Scrapes]],
    server_settings: NamedDependency[SkipValidation[ServerSettings]],
) -> Response[bytes]:
    """Figures of the whole installation, read from Redis now, and of this process; without Redis of this process alone.

    401 without the token of LEASEFORGE_METRICS_TOKEN, if there is one.
    """
    token = server_settings.http.metrics_token
    if token and not is_bearer(request.headers.get("authorization"), token):
        raise NotAuthenticated("metrics are for those who send the token of LEASEFORGE_METRICS_TOKEN")
    return Response(await scrapes.page(), media_type=CONTENT_TYPE)


async def _health(store: Store, word: str) -> Response[Health]:
    try:
        async with asyncio.timeout(PATIENCE_S):
            await store.ping()
    except (StoreError, TimeoutError):
        return Response(Health("unavailable", "unreachable"), status_code=503)
    return Response(Health(word, "ok"))


router = Router("/", route_handlers=[livez, health, ready, metrics], include_in_schema=False)
