"""The mutants, by what of the engine they break."""

from tests.mutants.bulk import BULK
from tests.mutants.mutant import Mutant, mutant

FENCING = (
    mutant(
        "settle without fence",
        "whoever comes settles a running job, whatever token it presents",
        "engine/transitions/test_stale_tokens.py interleavings/test_leases.py",
        ("lua/settle.lua", "values[1] ~= 'running' or values[2] ~= token then", "values[1] ~= 'running' then"),
    ),
    mutant(
        "renew without fence",
        "a worker that lost a job renews the lease of the next one",
        "engine/transitions/test_stale_tokens.py",
        (
            "lua/renew.lua",
            "if values and values[1] == 'running' and values[2] == token then",
            "if values and values[1] == 'running' then",
        ),
    ),
    mutant(
        "progress without fence",
        "a worker that lost a job reports progress for the next one",
        "engine/transitions/test_attempts.py",
        ("lua/progress.lua", "values[1] ~= 'running' or values[2] ~= A[2] then", "values[1] ~= 'running' then"),
    ),
    mutant(
        "log without fence",
        "a worker that lost a job writes into its log",
        "engine/transitions/test_attempts.py",
        ("lua/log.lua", "values[1] ~= 'running' or values[2] ~= token then", "values[1] ~= 'running' then"),
    ),
    mutant(
        "fence by count only",
        "tokens fall back after the queue lost its last one",
        "engine/transitions/test_claim.py",
        ("lua/claim.lua", "math.max(whole(meta[1]) + 1, NOW_US)", "whole(meta[1]) + 1"),
    ),
    mutant(
        "settled token not kept",
        "a settlement repeated after a lost reply is told that it lost the job",
        "engine/transitions/test_complete.py",
        ("lua/settle.lua", "redis.call('HSET', key, 'settled', token, 'rev',", "redis.call('HSET', key, 'rev',"),
    ),
    mutant(
        "token kept by recover",
        "a job that was taken back can still be settled under its old token",
        "engine/transitions/test_stale_tokens.py",
        ("lua/recover.lua", "local fields = { 'token', '', 'rev',", "local fields = { 'rev',"),
        ("lua/settle.lua", "not values or values[1] ~= 'running' or values[2]", "not values or values[2]"),
    ),
    mutant(
        "no adoption",
        "a claim repeated after a lost reply claims further jobs, and the first ones wait for their leases to end",
        "engine/transitions/test_adopt.py",
        ("lua/claim.lua", "if last and last[1] == number then", "if false then"),
    ),
    mutant(
        "late copy of an exchange claims",
        "a job is claimed by an exchange whose answer nobody waits for",
        "interleavings/test_leases.py",
        ("lua/claim.lua", "if last and whole(last[1]) > whole(number) then", "if false then"),
    ),
    mutant(
        "operation not remembered",
        "a click repeated after a lost reply replays the job twice",
        "engine/transitions/test_retry.py",
        ("lua/_replay.lua", "if values[2] == operation then", "if false then"),
    ),
)

PLACES = (
    mutant(
        "settled job stays in running",
        "a job stands in two places",
        "engine/transitions/test_complete.py",
        ("lua/settle.lua", "redis.call('ZREM', K.running, unpack(leaving))", "redis.call('ZCARD', K.running)"),
    ),
    mutant(
        "claimed job stays in ready",
        "a job is claimed twice",
        "engine/transitions/test_claim.py",
        ("lua/claim.lua", "redis.call('ZREM', K.ready, unpack(leaving))", "redis.call('ZCARD', K.ready)"),
    ),
    mutant(
        "promoted job stays in scheduled",
        "a job stands in two places",
        "engine/transitions/test_promote.py",
        ("lua/promote.lua", "redis.call('ZREM', K[state], unpack(ids))", "redis.call('ZCARD', K[state])"),
    ),
    mutant(
        "sets not looked at first",
        "a script that meets a foreign key has written half of its transition",
        "engine/transitions/test_write_order.py",
        ("lua/_queue.lua", "  if sets_checked then\n    return\n  end", "  do return end"),
    ),
    mutant(
        "recover without a look at the state",
        "a leftover entry in running makes a job ready that has ended or waits elsewhere",
        "engine/transitions/test_damaged_data.py",
        (
            "lua/recover.lua",
            "elseif values[1] ~= 'running' then\n      count('dropped')",
            "elseif values[1] == nil then\n      count('dropped')",
        ),
    ),
    mutant(
        "claim without a look at the sequence",
        "a second entry of a job lets it run twice",
        "engine/transitions/test_damaged_data.py",
        (
            "lua/claim.lua",
            "elseif job[STATE] ~= 'ready' or ready_member(job[SEQ], id) ~= entry then",
            "elseif false then",
        ),
    ),
    mutant(
        "missing payload handed out",
        "a worker gets a job without its payload instead of an operator hearing of it",
        "engine/transitions/test_damaged_data.py",
        ("lua/claim.lua", "if not payloads[i] then", "if payloads[i] == nil then"),
    ),
)

ORDER = (
    mutant(
        "priority upside down",
        "the least urgent job comes first",
        "engine/transitions/test_claim.py",
        ("lua/_queue.lua", "return text(0 - whole(priority))", "return text(whole(priority))"),
    ),
    mutant(
        "old sequence at promotion",
        "a promoted job jumps the queue, or two jobs share a sequence",
        "engine/transitions/test_promote.py",
        (
            "lua/promote.lua",
            "redis.call('HINCRBY', K.meta, 'seq', #moving) - #moving",
            "whole(redis.call('HGET', K.meta, 'seq')) - #moving",
        ),
    ),
    mutant(
        "new sequence at release",
        "a job given back by a draining worker goes to the end of the line",
        "engine/transitions/test_release.py",
        (
            "lua/settle.lua",
            "    redis.call('ZADD', K.ready, ready_score(values[6]), ready_member(values[7], id))",
            "    local fresh = redis.call('HINCRBY', K.meta, 'seq', 1)\n    set('seq', text(fresh))\n"
            "    redis.call('ZADD', K.ready, ready_score(values[6]), ready_member(fresh, id))",
        ),
    ),
    mutant(
        "purge beyond what was shown",
        "jobs that arrived after the operator saw the count go too",
        "engine/transitions/test_purge_bounds.py",
        ("lua/purge.lua", "if seq > bound then", "if false then"),
    ),
    mutant(
        "purge of what came back",
        "jobs released or recovered since the operator saw the count go too",
        "engine/transitions/test_purge_bounds.py engine/transitions/test_purge.py",
        ("lua/purge.lua", "whole(values[2]) > as_of then", "false then"),
    ),
    mutant(
        "ended lists oldest first",
        "the newest dead job is on the last page",
        "engine/test_reads.py",
        ("lua/read_jobs.lua", "newest_first and 'ZREVRANGE' or 'ZRANGE'", "newest_first and 'ZRANGE' or 'ZRANGE'"),
    ),
)

TIME = (
    mutant(
        "client clock",
        "a worker whose clock is wrong gets a lease that is over at once, or never",
        "engine/test_clocks.py",
        ("lua/renew.lua", "scores[#scores + 1] = text(NOW + lease)", "scores[#scores + 1] = text(lease)"),
        (
            "exchanges.py",
            "from collections.abc import Sequence\n",
            "import time\nfrom collections.abc import Sequence\n",
        ),
        (
            "exchanges.py",
            '        (("lease_ms", lease_ms),),\n',
            '        (("lease_ms", int(time.time() * 1000) + lease_ms),),\n',
        ),
    ),
    mutant(
        "no grace after an outage",
        "every running job is run a second time after Redis was away",
        "engine/transitions/test_recover_after_outage.py",
        ("lua/recover.lua", "return not from or NOW >= from", "return true"),
    ),
    mutant(
        "trim without mercy",
        "a record goes while its producer may still repeat the request",
        "engine/transitions/test_trim.py",
        ("lua/trim.lua", "excess > 0 and 60000 or age", "excess > 0 and 0 or age"),
    ),
    mutant(
        "no poison",
        "a job that kills its worker does so for ever",
        "engine/transitions/test_recover.py",
        ("lua/_crash.lua", "if crashes > most then", "if false then"),
    ),
    mutant(
        "crashes at once",
        "a job that takes down its child process does so without a pause",
        "engine/transitions/test_crash.py",
        ("lua/settle.lua", "whole(detail.max), whole(detail.delay), set)", "whole(detail.max), nil, set)"),
    ),
    mutant(
        "backoff without cap",
        "a job that failed often waits for years",
        "engine/test_backoff.py",
        (
            "backoff.py",
            "return min(base_ms << min(max(failures - 1, 0), _MAX_DOUBLINGS), cap_ms)",
            "return base_ms << min(max(failures - 1, 0), _MAX_DOUBLINGS)",
        ),
    ),
    mutant(
        "statistics rolled up again",
        "charts show a multiple of what happened",
        "engine/test_rolling_up.py",
        ("lua/roll.lua", "redis.call('HSET', K.meta, 'rolled', text(bucket))", "redis.call('HGET', K.meta, 'rolled')"),
    ),
)

LIMITS = (
    mutant(
        "no use of memory beyond the limit for workers",
        "a full server stops what would make room",
        "engine/test_memory_full.py",
        ("lua/exchange.lua", "-- flags allow-oom\n", ""),
    ),
    mutant(
        "no renewal on a full server",
        "every running job loses its lease when memory is full",
        "engine/test_memory_full.py",
        ("lua/renew.lua", "-- flags allow-oom\n", ""),
    ),
    mutant(
        "enqueue beyond the limit",
        "new jobs are taken until the server is killed",
        "engine/test_memory_full.py",
        ("lua/enqueue.lua", "-- uses _queue\n", "-- flags allow-oom\n-- uses _queue\n"),
    ),
    mutant(
        "cap ignored",
        "more jobs of a queue run than its operator allows",
        "engine/transitions/test_limits.py",
        ("lua/_queue.lua", "  if meta[2] then\n", "  if false then\n"),
    ),
    mutant(
        "bucket not refilled",
        "a queue with a rate stands still after its first burst",
        "engine/transitions/test_limits.py",
        ("lua/_queue.lua", "(tonumber(meta[5]) or burst) + since * rate / 1000", "(tonumber(meta[5]) or burst)"),
    ),
    mutant(
        "bucket without bottom",
        "a burst saved up over a night is claimed at once",
        "engine/transitions/test_limits.py",
        ("lua/_queue.lua", "bucket = math.min(burst, ", "bucket = math.max(0, "),
    ),
    mutant(
        "history without end",
        "a job that is given back for ever fills the memory",
        "engine/transitions/test_attempts.py",
        ("lua/_queue.lua", "redis.call('LTRIM', key, -20, -1)", "redis.call('LLEN', key)"),
    ),
    mutant(
        "log without end",
        "a chatty job fills the memory",
        "engine/transitions/test_attempts.py",
        ("lua/log.lua", "redis.call('LTRIM', key, -200, -1)", "redis.call('LLEN', key)"),
    ),
)

WAKING = (
    mutant(
        "nobody woken",
        "idle workers hear of new jobs with the next sweep only",
        "engine/transitions/test_enqueue.py",
        ("lua/_queue.lua", "redis.call('RPUSH', K.wake, '1')", "redis.call('LLEN', K.wake)"),
    ),
    mutant(
        "baton dropped",
        "a claim that leaves work wakes no further worker",
        "engine/transitions/test_claim.py",
        (
            "lua/claim.lua",
            "local more = left and allowed > #jobs\n  if more then\n",
            "local more = left and allowed > #jobs\n  if false then\n",
        ),
    ),
    mutant(
        "herd of tokens",
        "every job wakes a worker of its own",
        "engine/transitions/test_tick.py engine/transitions/test_enqueue.py",
        ("lua/_queue.lua", "if spare(redis.pcall('LLEN', K.wake)) == 0 then", "if true then"),
    ),
    mutant(
        "raised limit wakes nobody",
        "a queue whose cap was raised stands still until the next sweep",
        "engine/transitions/test_limits.py",
        ("lua/configure.lua", "  wake_if_claimable(K)\n", ""),
    ),
)

KEYS_AND_GROUPS = (
    mutant(
        "unique key kept by what ended",
        "no further job with the key is taken until its time is over",
        "engine/transitions/test_unique_keys.py",
        ("lua/settle.lua", "    if ENDED[state] then\n", "    if ENDED[state] and state ~= 'completed' then\n"),
    ),
    mutant(
        "unique key freed too early",
        "two jobs with one key live at the same time",
        "engine/transitions/test_unique_keys.py",
        ("lua/settle.lua", "    if ENDED[state] then\n", "    if true then\n"),
    ),
    mutant(
        "unique key of another freed",
        "an ended job frees the key that its successor holds",
        "engine/transitions/test_unique_keys.py",
        (
            "lua/_queue.lua",
            "    if redis.call('GET', key) == id then\n      redis.call('DEL', key)",
            "    if true then\n      redis.call('DEL', key)",
        ),
    ),
    mutant(
        "idempotency key without its body",
        "another request under the same key is taken for a repeat and never carried out",
        "engine/transitions/test_idempotency.py",
        (
            "lua/enqueue.lua",
            "answer = string.sub(used, 1, 64) == extra.body and 'duplicate' or 'refused'",
            "answer = 'duplicate'",
        ),
    ),
    mutant(
        "group not left at a replay",
        "a kind of error counts jobs that are no longer dead",
        "engine/transitions/test_dead_groups.py",
        ("lua/_replay.lua", "    leave_group(K, id, values[7])\n", ""),
    ),
    mutant(
        "group not left at a trim",
        "a kind of error counts jobs that are gone",
        "engine/transitions/test_dead_groups.py",
        ("lua/trim.lua", "            leave_group(K, id, values and values[2])\n", ""),
    ),
)

ENDINGS = (
    mutant(
        "wish to stop ignored by a failure",
        "a cancelled job that fails is run again",
        "engine/transitions/test_fail.py",
        (
            "lua/settle.lua",
            "elseif outcome == 'cancelled' or values[9] == '1' then",
            "elseif outcome == 'cancelled' then",
        ),
    ),
    mutant(
        "wish to stop forgotten when the worker is lost",
        "a cancelled job whose worker died is run again",
        "engine/transitions/test_recover.py",
        ("lua/_crash.lua", "if job.cancel_requested == '1' then", "if false then"),
    ),
    mutant(
        "failures kept by a replay",
        "a replayed job dies of its first failure",
        "engine/transitions/test_retry.py",
        ("lua/_replay.lua", "redis.call('HDEL', key, 'failures', 'recoveries',", "redis.call('HDEL', key,"),
    ),
    mutant(
        "one failure too many",
        "a job runs once more often than its budget says",
        "engine/transitions/test_fail.py",
        ("lua/settle.lua", "failures >= detail.max", "failures > detail.max"),
    ),
    mutant(
        "release charged as a failure",
        "workers that drain use up the budget of jobs",
        "engine/transitions/test_release.py",
        (
            "lua/settle.lua",
            "  if outcome == 'fail' then\n    failures",
            "  if outcome ~= 'cancelled' then\n    failures",
        ),
    ),
    mutant(
        "a running job deleted",
        "a job vanishes under its worker",
        "engine/transitions/test_delete.py",
        ("lua/delete.lua", "if state == 'running' then", "if false then"),
    ),
)

FOLLOW_UPS = (
    mutant(
        "outbox entry not removed",
        "follow-ups are forwarded again with every round",
        "engine/transitions/test_follow_ups.py",
        ("lua/forwarded.lua", "redis.call('HDEL', K.outbox, A[i]) == 1", "redis.call('HEXISTS', K.outbox, A[i]) == 1"),
    ),
    mutant(
        "follow-ups of what did not complete",
        "a failed job has the follow-ups of a completed one",
        "engine/transitions/test_follow_ups.py",
        (
            "lua/settle.lua",
            "      state = end_otherwise(K, id, key, values, token, A[at + 2], details[m] or {})\n",
            "      state = end_otherwise(K, id, key, values, token, A[at + 2], details[m] or {})\n"
            "      unpack_follow_ups(K, id, A[at + 5], follow_ups, parents)\n",
        ),
    ),
    mutant(
        "follow-up forwarded under no key",
        "one that ran and was deleted comes back when a slow worker forwards it too",
        "interleavings/test_follow_ups.py",
        ("outbox.py", "if not is_own and job.idempotency_key is None:", "if False:"),
    ),
    mutant(
        "job stored before its queue is known",
        "a crash between the two leaves a job that no list and no worker of every queue finds",
        "engine/test_crashes.py",
        ("enqueueing.py", "    yield from register_queue(queue)\n    call =", "    call ="),
    ),
)

STORE = (
    mutant(
        "hidden repeats",
        "the client sends a call again by itself, and nobody hears that its reply was lost",
        "engine/store/test_lost_replies.py",
        ("store/clients.py", "flavour.retry(NoBackoff(), 0)", "flavour.retry(NoBackoff(), 3)"),
    ),
    mutant(
        "a moving slot is a defect",
        "workers give up while a slot of the cluster moves",
        "cluster/test_slot_move.py",
        ("store/faults.py", "    faults.ClusterError,\n", ""),
    ),
    mutant(
        "no guard",
        "a script sees half a queue while its slot moves, and buries healthy jobs",
        "cluster/test_slot_move.py",
        (
            "calls.py",
            '_LONG_NAMES = {"groups": "dead:groups"}',
            '_LONG_NAMES = {"groups": "dead:groups", "guard": "types"}',
        ),
    ),
    mutant(
        "a replicated call goes where the slot was",
        "after a slot moved, no replicated enqueue for its queue succeeds any more",
        "cluster/test_slot_move.py",
        ("store/asynchronous.py", "        await self._client.exists(key)\n", ""),
    ),
    mutant(
        "a replica's word not waited for",
        "a replicated enqueue is acknowledged though no replica has it",
        "cluster/test_replica.py",
        ("store/checks.py", "    if confirmed < step.replicas:", "    if False:"),
    ),
)

ALL: tuple[Mutant, ...] = (
    *FENCING,
    *PLACES,
    *ORDER,
    *TIME,
    *LIMITS,
    *WAKING,
    *KEYS_AND_GROUPS,
    *ENDINGS,
    *FOLLOW_UPS,
    *BULK,
    *STORE,
)
