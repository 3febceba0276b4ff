"""The composition root: settings and a store become the application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from litestar import Litestar, Request, Response, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import MethodNotAllowedException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ASGIApp

from leaseforge.bell import Bell
from leaseforge.store import Store, connect
from leaseforge_api.addition import keep_adding_up
from leaseforge_api.bodies import MAX_BODY_BYTES
from leaseforge_api.bulk_runner import keep_running_bulk
from leaseforge_api.coalescing import Coalescing
from leaseforge_api.edge import Edge
from leaseforge_api.event_feed import EventFeed
from leaseforge_api.event_stream import Standing
from leaseforge_api.metrics import Scrapes, ServerMeters
from leaseforge_api.openapi_names import TAGS, operation_id
from leaseforge_api.problems import answer_problem
from leaseforge_api.queries import check_query
from leaseforge_api.routes import (
    audit,
    auth,
    bulk,
    delayed,
    dlq,
    events,
    job_actions,
    job_lists,
    jobs,
    metrics,
    oidc,
    openapi,
    probes,
    queues,
    sessions,
    system,
    taskforge,
    tokens,
    users,
    workers,
)
from leaseforge_api.schemas.pages import Cursors, page_of
from leaseforge_api.services import build_services
from leaseforge_api.settings import ServerSettings
from leaseforge_api.slashes import WholeNames
from leaseforge_api.version import VERSION
from leaseforge_auth.addresses import request_address
from leaseforge_auth.guards import AUTH
from leaseforge_auth.identity import Identity
from leaseforge_console.paths import HOME
from leaseforge_console.routes import console_part
from leaseforge_console.settings import ConsoleSettings

if TYPE_CHECKING:
    from leaseforge.tracing_sdk import Recording

T = TypeVar("T")

# How long a request may wait for Redis to come back before it is answered with 503.
STORE_PATIENCE_S = 2.0


def create_app(
    settings: ServerSettings, store: Store | None = None, *, recording: "Recording | None" = None
) -> Litestar:
    """The whole server: API, console, probes. A store that is handed in stays open when the application ends.

    `app.state.stop` is set when the server is told to stop, so that open streams end.
    """
    is_own_store = store is None
    connected = store or connect(settings.engine.redis_url, retry_s=STORE_PATIENCE_S)
    stop, bell, meters = asyncio.Event(), Bell(), ServerMeters()
    services = build_services(settings, connected, is_alone=meters.http.is_alone)
    root_path = settings.auth.root_path
    console = console_part(_console_settings(settings))
    feed = EventFeed()
    coalescing = Coalescing(connected, is_alone=meters.http.is_alone)

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        try:
            await services.accounts.bootstrap(settings.auth.declared_accounts, has_sso=settings.oidc.is_on)
            live = console.live_updates(app, connected, services.sessions, stop, meters.pulse, [feed.topic])
            async with coalescing.running(), live, asyncio.TaskGroup() as loops:
                loops.create_task(keep_adding_up(connected, stop, meters.pulse))
                loops.create_task(keep_running_bulk(connected, services.authenticate.trail, stop, bell, meters.pulse))
                try:
                    yield
                finally:
                    stop.set()
        finally:
            stop.set()
            services.passwords.close()
            await services.fetcher.aclose()
            if is_own_store:
                await connected.aclose()

    def caller_address(request: Request[Any, Any, Any]) -> str:
        return request_address(request, settings.auth.trusted_proxies)

    def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        is_page = (request.scope["path"] + "/").startswith(HOME + "/") or oidc.is_for_people(request)
        if not is_page:
            return answer_problem(request, error)
        page = console.answer_error(request, error)
        if isinstance(error, MethodNotAllowedException):
            page.headers.update(error.headers or {})
        return page

    app = Litestar(
        route_handlers=[
            Router(
                "/api",
                route_handlers=[
                    audit.router,
                    auth.router,
                    bulk.router,
                    delayed.router,
                    dlq.router,
                    events.router,
                    job_actions.router,
                    job_lists.router,
                    jobs.router,
                    metrics.router,
                    oidc.router,
                    openapi.router,
                    queues.router,
                    sessions.router,
                    system.router,
                    tokens.router,
                    users.router,
                    workers.router,
                ],
                opt={AUTH: "bearer"},
                before_request=check_query,
            ),
            probes.router,
            taskforge.router,
            console.router,
            openapi.for_pages,
        ],
        middleware=[WholeNames(), services.authenticate],
        exception_handlers={Exception: answer_error},
        dependencies={
            "store": _always(connected),
            "coalescing": _always(coalescing),
            "bulk_bell": _always(bell),
            "scrapes": _always(Scrapes(connected, meters)),
            "accounts": _always(services.accounts),
            "sessions": _always(services.sessions),
            "sso": _always(services.sso),
            "tokens": _always(services.tokens),
            "users": _always(services.users),
            "api_tokens": _always(services.api_tokens),
            "event_feed": _always(feed),
            "standing": _always(Standing(services.tokens, services.api_tokens)),
            "page": Provide(page_of(Cursors(settings.auth.auth_secret))),
            "server_settings": _always(settings),
            "identity": Provide(caller_identity, sync_to_thread=False),
            "client_address": Provide(caller_address, sync_to_thread=False),
        },
        lifespan=[lifespan],
        state=State({"stop": stop, "root_path": root_path}),
        request_max_body_size=MAX_BODY_BYTES,
        openapi_config=_openapi(),
        debug=False,
        pdb_on_exception=False,
        logging_config=None,
    )
    is_https = settings.auth.is_https
    routed = app.asgi_handler if recording is None else _routes_noted(app.asgi_handler)
    trusted = settings.auth.trusted_proxies
    app.asgi_handler = Edge(routed, root_path=root_path, is_https=is_https, meters=meters.http, trusted_proxies=trusted)
    if recording is not None:
        app.asgi_handler = _requests_traced(app.asgi_handler, recording, root_path)
    return app


def _routes_noted(app: ASGIApp) -> ASGIApp:
    from leaseforge_api.request_spans import RouteNoted  # needs OpenTelemetry

    return RouteNoted(app)


def _requests_traced(app: ASGIApp, recording: "Recording", root_path: str) -> ASGIApp:
    from leaseforge_api.request_spans import RequestSpans  # needs OpenTelemetry

    return RequestSpans(app, recording.tracer, root_path=root_path)


def caller_identity(request: Request[Identity, Any, Any]) -> Identity:
    """Who asks; the middleware has seen to it that somebody does."""
    return request.user


def _always(value: T) -> Provide:
    def provide() -> Any:
        return value

    return Provide(provide, sync_to_thread=False)


def _console_settings(settings: ServerSettings) -> ConsoleSettings:
    return ConsoleSettings(
        version=VERSION,
        root_path=settings.auth.root_path,
        environment=settings.http.environment,
        secure=settings.auth.is_https,
        trace_url=settings.http.trace_url,
    )


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Leaseforge",
        version=VERSION,
        description="Control API of Leaseforge: background jobs on Redis with leases and fencing.",
        security=[{"bearer": []}],
        use_handler_docstrings=True,
        operation_id_creator=operation_id,
        tags=TAGS,
        components=Components(
            security_schemes={"bearer": SecurityScheme(type="http", scheme="bearer", bearer_format="JWT")}
        ),
        openapi_router=openapi.NoPages("/api", route_handlers=[]),
    )
