-- What the scripts of bulk operations share: a queue's part of an operation, and how they answer.
-- The part is a hash: term, halted, stage, step, score, member, found, searched, at, done, changed, gone,
-- failed:<kind>, well, again, fault. It lies in the queue's slot, so that it changes together with the queue's jobs.

-- What every script here answers: a word, and the part as it is now.
local function part_answer(K, word)
  return { word, redis.call('HGETALL', K.part) }
end

-- What a job was when it was written down. A rev alone could come again: a deleted job's id may be enqueued anew.
local function version_of(rev, created_at)
  return text(whole(rev)) .. '.' .. text(whole(created_at))
end
