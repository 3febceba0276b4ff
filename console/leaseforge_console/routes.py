"""What the application factory mounts: the console under /console, its static files, and `/` leading there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog
from litestar import Litestar, Request, Response, Router, get
from litestar.datastructures import State
from litestar.di import Provide
from litestar.response import Redirect

from leaseforge.pulse import Pulse
from leaseforge.store import Store
from leaseforge_auth.guards import AUTH, public
from leaseforge_auth.sessions import Sessions
from leaseforge_console import errors
from leaseforge_console.console import Console
from leaseforge_console.live import Live, Topic
from leaseforge_console.pages import (
    account,
    api,
    audit,
    dead,
    delayed,
    export,
    find,
    job,
    job_actions,
    job_content,
    job_edit,
    job_reveal,
    jobs,
    live,
    login,
    metrics,
    new_job,
    operation_request,
    operation_steps,
    operations,
    overview,
    own_tokens,
    preferences,
    queue,
    queue_pause,
    queue_settings,
    queues,
    saved_views,
    static,
    still,
    system,
    tokens,
    user_access,
    users,
    worker,
    workers,
)
from leaseforge_console.pages.asked import asked_jobs
from leaseforge_console.pages.look import read_look
from leaseforge_console.paths import HOME
from leaseforge_console.settings import ConsoleSettings
from leaseforge_console.visit import visit_of

_PAGES = [
    overview.show_overview,
    queues.show_queues,
    queue_pause.confirm_pause,
    queue_pause.pause_queue,
    queue_pause.confirm_resume,
    queue_pause.resume_queue,
    queues.confirm_purge,
    queues.purge_queue,
    queue.show_queue,
    queue_settings.show_settings,
    queue_settings.review_settings,
    queue_settings.change_settings,
    new_job.ask_for_job,
    new_job.make_job,
    job.show_job,
    job_actions.retry_job,
    job_actions.promote_now,
    job_actions.confirm_requeue,
    job_actions.requeue_job,
    job_actions.confirm_cancel_job,
    job_actions.cancel_live_job,
    job_actions.confirm_delete,
    job_actions.delete_job,
    job_edit.edit_payload,
    job_edit.show_changes,
    job_edit.retry_edited,
    job_reveal.ask_to_reveal,
    job_reveal.reveal_job,
    job_content.download_payload,
    job_content.download_result,
    jobs.show_jobs,
    delayed.show_delayed,
    delayed.promote_job,
    delayed.confirm_cancel,
    delayed.cancel_job,
    dead.show_groups,
    dead.show_jobs,
    dead.retry_dead,
    dead.confirm_delete_dead,
    dead.delete_dead,
    dead.confirm_purge_dead,
    dead.purge_dead,
    operations.show_operations,
    operation_request.ask_anew,
    operation_request.ask_for_operation,
    operations.show_operation,
    operation_steps.run_operation,
    operation_steps.pause_operation,
    operation_steps.discard_operation,
    operation_steps.confirm_abort,
    operation_steps.abort_operation,
    workers.show_workers,
    worker.show_worker,
    worker.quiet_worker,
    worker.resume_worker,
    worker.confirm_stop,
    worker.stop_worker,
    metrics.show_metrics,
    system.show_system,
    find.find,
    api.show_api,
    find.look_up,
    export.export_jobs,
    export.export_delayed,
    export.export_dead,
    saved_views.show_views,
    saved_views.keep_view,
    saved_views.give_name,
    saved_views.forget_view,
    audit.show_audit,
    audit.export_audit,
    account.show_account,
    account.change_password,
    account.end_session,
    account.confirm_logout,
    account.log_out_everywhere,
    own_tokens.ask_for_token,
    own_tokens.make_token,
    own_tokens.confirm_revoke,
    own_tokens.revoke_token,
    users.show_users,
    users.ask_for_user,
    users.make_user,
    users.show_user,
    users.change_roles,
    users.enable_user,
    users.end_session,
    user_access.confirm_disable,
    user_access.disable_user,
    user_access.confirm_password,
    user_access.make_password,
    user_access.confirm_logout,
    user_access.log_out_everywhere,
    user_access.confirm_delete,
    user_access.delete_user,
    tokens.show_tokens,
    tokens.confirm_revoke,
    tokens.revoke_token,
    preferences.choose_theme,
    preferences.switch_keys,
    login.show_login,
    login.log_in,
    login.log_out,
    live.watch_overview,
    still.watch_still,
    live.watch_queues,
    live.watch_queue,
    live.watch_job,
    live.watch_jobs,
    live.watch_delayed,
    live.watch_dead_groups,
    live.watch_dead_jobs,
    live.watch_operations,
    live.watch_operation,
    live.watch_workers,
    live.watch_worker,
    live.watch_metrics,
    live.watch_system,
]


@dataclass(frozen=True, slots=True)
class ConsolePart:
    """The console as a part of the application.

    `live_updates` is a lifespan that polls the given store until `stop` is set, and shows that it lives in `pulse`.
    `answer_error` answers, as a page, what no route of the router could: unknown addresses under /console.
    """

    router: Router
    live_updates: Callable[
        [Litestar, Store, Sessions, asyncio.Event, Pulse, Sequence[Topic]], AbstractAsyncContextManager[None]
    ]
    answer_error: Callable[[Request[Any, Any, Any], Exception], Response[Any]]


def console_part(settings: ConsoleSettings) -> ConsolePart:
    """Reads templates and static files once and builds everything the factory needs.

    The application provides the dependencies `store`, `accounts`, `users`, `sessions`, `api_tokens`, `sso` and
    `client_address`.
    """
    console = Console(settings)

    def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        reference = structlog.contextvars.get_contextvars().get("request_id", "")
        return errors.respond(console, request, error, reference)

    @get("/", **public())
    async def lead_home() -> Redirect:
        """The console is what people come for."""
        return Redirect(settings.root_path + HOME, status_code=302)

    pages = Router(HOME, route_handlers=_PAGES, opt={AUTH: "session"}, exception_handlers={Exception: answer_error})
    router = Router(
        "/",
        route_handlers=[lead_home, static.send_static, pages],
        dependencies={
            "console": Provide(lambda: console, sync_to_thread=False, use_cache=True),
            "live": Provide(_live, sync_to_thread=False),
            "visit": Provide(visit_of),
            "asked": Provide(asked_jobs),
            "look": Provide(read_look),
        },
        include_in_schema=False,
    )
    return ConsolePart(router, live_updates, answer_error)


@asynccontextmanager
async def live_updates(
    app: Litestar, store: Store, sessions: Sessions, stop: asyncio.Event, pulse: Pulse, standing: Sequence[Topic]
) -> AsyncIterator[None]:
    """Runs the poller while the application lives. `standing` are topics that are looked after as loops."""
    app.state.live = live_ = Live(store, ended=sessions.ended, pulse=pulse, standing=standing)
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(live_.run(stop))
        try:
            yield
        finally:
            polling.cancel()


def _live(state: State) -> Live:
    running: Live = state.live
    return running
