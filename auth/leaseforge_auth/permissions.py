"""What somebody may do here: one closed list of `resource:action` words, shared by API, console and gateway."""

from enum import StrEnum


class Permission(StrEnum):
    """One thing a role allows. `read_own` is limited to jobs the caller enqueued; `reveal` shows what is masked."""

    AUDIT_READ = "audit:read"
    DELAYED_READ = "delayed:read"
    DELAYED_WRITE = "delayed:write"
    DLQ_READ = "dlq:read"
    DLQ_WRITE = "dlq:write"
    JOBS_ENQUEUE = "jobs:enqueue"
    JOBS_READ = "jobs:read"
    JOBS_READ_OWN = "jobs:read_own"
    JOBS_WRITE = "jobs:write"
    METRICS_READ = "metrics:read"
    PAYLOADS_READ = "payloads:read"
    PAYLOADS_REVEAL = "payloads:reveal"
    QUEUES_READ = "queues:read"
    QUEUES_WRITE = "queues:write"
    SCHEDULES_READ = "schedules:read"
    SCHEDULES_WRITE = "schedules:write"
    SYSTEM_READ = "system:read"
    TOKENS_READ = "tokens:read"
    TOKENS_WRITE = "tokens:write"
    USERS_READ = "users:read"
    USERS_WRITE = "users:write"
    WORKERS_READ = "workers:read"
    WORKERS_WRITE = "workers:write"
