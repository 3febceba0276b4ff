-- The crash budget of a job, beside the budget of failures: a lease that a worker lost and a process that the
-- job took down are charged to it alike, and what failed in the ordinary way never is.

-- Charges one crash and puts the job where it leads: answers that state and adds its fields. `pause` in ms, or
-- nil for back in line at once, in the old place. The caller takes the job out of running, counts what happened to it
-- and tells its history.
local function charge_crash(K, id, job, most, pause, set)
  local crashes = whole(job.recoveries) + 1
  set('recoveries', text(crashes))
  if job.cancel_requested == '1' then
    set('finished_at', text(NOW))
    redis.call('ZADD', K.cancelled, NOW, id)
    count('cancelled')
    return 'cancelled'
  end
  if crashes > most then
    local job_type = job.type or 'unknown'
    set('reason', 'poison')
    set('finished_at', text(NOW))
    set('fp', join_group(K, id, 'poison:' .. job_type, job_type .. '\npoison\n'))
    redis.call('ZADD', K.dead, NOW, id)
    count('dead')
    count_type(K, 'dead', job_type)
    return 'dead'
  end
  if pause then
    redis.call('ZADD', K.retrying, text(NOW + pause), id)
    return 'retrying'
  end
  set('ready_at', text(NOW))
  redis.call('ZADD', K.ready, ready_score(job.priority), ready_member(job.seq, id))
  return 'ready'
end
