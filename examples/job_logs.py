"""Middleware: every line a handler logs names its job: `leaseforge worker job_logs --queues default`.

`job_lines` stands at the top of a task module, so it surrounds every task of the worker; add this module to yours:
`leaseforge worker mytasks job_logs`.
"""

import structlog

from leaseforge import Context, Middleware, task

log = structlog.get_logger()


class JobLines(Middleware):
    """Binds the job's id, type and attempt to structlog's context, and writes a line for each failure."""

    def before(self, ctx: Context) -> None:
        """Each handler has context variables of its own: nothing has to be taken back."""
        structlog.contextvars.bind_contextvars(job_id=ctx.job_id, type=ctx.job.type, attempt=ctx.attempt)

    def error(self, ctx: Context, error: BaseException) -> None:
        """A line besides the error that the job itself keeps."""
        log.warning("handler_failed", kind=type(error).__name__)


job_lines = JobLines()


@task
async def greet(ctx: Context, name: str) -> str:
    """Its line says for which job it is, although nothing here names one."""
    if not name:
        raise ValueError("nobody to greet")
    log.info("greeting", length=len(name))
    return f"Hello {name}"
