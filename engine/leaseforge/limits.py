"""Every bound of the engine in one place. Sizes are bytes, times milliseconds unless the name says otherwise."""

from datetime import UTC, datetime

MAX_PAYLOAD_BYTES = 1024 * 1024
MAX_RESULT_BYTES = 256 * 1024
MAX_TRACEBACK_BYTES = 8 * 1024
MAX_MESSAGE_BYTES = 1024
ERROR_HEAD_BYTES = 60
"""What the record itself holds of an error: a hash with a longer value loses its compact form."""
MAX_KEY_BYTES = 256
MAX_TYPE_BYTES = 128
MAX_CONTENT_TYPE_BYTES = 64
MAX_TAGS = 16
MAX_TAG_BYTES = 64
MAX_OPERATION_BYTES = 64
MAX_TRACESTATE_BYTES = 512

MIN_PRIORITY = -(2**31)
MAX_PRIORITY = 2**31 - 1
MAX_ATTEMPTS = 10_000
MAX_TIMEOUT_MS = 7 * 86_400_000
MAX_BACKOFF_MS = 30 * 86_400_000
MAX_MEMORY_MB = 1024 * 1024
MAX_CPU_S = 7 * 86_400
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 1, 1, tzinfo=UTC)
"""Instants beyond these are no times of jobs, and cannot be written in every zone."""
MAX_DELAY_MS = 10 * 365 * 86_400_000
"""Ten years: a later date is more likely a wrong unit than a wish."""

MAX_UNIQUE_TTL_MS = 30 * 86_400_000
MAX_FOLLOW_UPS = 200
MAX_FOLLOW_UP_BYTES = 4 * 1024 * 1024
MAX_LOG_LINES = 200
MAX_LOG_LINE_BYTES = 1024
MAX_PROGRESS_NOTE_BYTES = 48
MAX_GROUPS = 1000
MAX_GROUP_BYTES = 256
MAX_RATE = 1_000_000.0

MIN_LEASE_MS = 500
MAX_LEASE_MS = 3_600_000
MAX_RECOVERIES = 3
"""Lost leases a job survives; the next one makes it poison."""

MAX_QUEUES = 1000
MAX_SEARCHED = 5000
"""Records one page of a search looks at, where no set knows the answer."""

MAX_WORKERS = 1000
"""Workers looked at where all of them are added up."""

MAX_BULK = 1000
MAX_BULK_BYTES = 16 * 1024 * 1024
"""Payloads one enqueue call carries together: Redis serves nobody else while it takes them in."""
MAX_PAGE = 100
MAX_OFFSET = 1_000_000_000
CHUNK = 200
"""Ids one transition may touch in one script."""
SWEEP = 100
"""Jobs a sweep takes back, promotes and trims at most, each: it does all three while others wait."""

KEEP_ENDED_MS = 24 * 3_600_000
KEEP_ENDED = 10_000
KEEP_DEAD_MS = 90 * 86_400_000
KEEP_DEAD = 100_000

MAX_OPERATION_JOBS = 1_000_000
"""Jobs one bulk operation may be about."""
MAX_FORM_BYTES = 8 * 1024
MAX_FORMS = 500
MAX_OPERATION_IDS = 1000
"""Jobs one bulk operation may name."""
MAX_OPERATION_GROUPS = 100
"""Groups of errors one bulk operation may name."""
MAX_OPERATIONS = 1000
MAX_OPERATIONS_ALIVE = 20
MAX_OPERATIONS_OF_ONE = 5
"""Of those not over, one account's: three others can still act in bulk when one leaves its own lying about."""
MAX_REASON = 500  # characters
MAX_OPERATION_RATE = 10_000
KEEP_OPERATION_MS = 7 * 86_400_000
OPERATION_CHUNK = 100
"""Jobs one call of a bulk operation looks at or acts on: others wait meanwhile."""
