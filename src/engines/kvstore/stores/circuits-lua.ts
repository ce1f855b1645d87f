/**
 * The states of a circuit and the changes between them, as in memory-breaker.ts. A hash holds the state `s` (0 closed,
 * 1 half-open, 2 open), its epoch `e`, failures `f`, successes `n` and the time `o` at which it opened; a sorted set
 * holds the probes with the time at which each counts as lost. Epochs are times in microseconds, so that they never
 * come again, even where the hash has expired.
 */

const begin = `
local time = redis.call('TIME')
local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = micros / 1000
local values = redis.call('HMGET', KEYS[1], 's', 'e', 'f', 'n', 'o')
local state = tonumber(values[1] or '0')
local epoch = tonumber(values[2] or '0')
local failures = tonumber(values[3] or '0')
local successes = tonumber(values[4] or '0')
local opened = tonumber(values[5] or '0')
-- A clock that was set back must not keep it open for longer.
if opened > now then
  opened = now
  redis.call('HSET', KEYS[1], 'o', string.format('%.3f', opened))
end
local function text(number) return string.format('%.0f', number) end
local function keep(resetMs)
  redis.call('PEXPIRE', KEYS[1], 86400000 + resetMs)
end
local function become(next, resetMs)
  state = next
  epoch = math.max(epoch + 1, micros)
  failures = 0
  successes = 0
  if next == 2 then opened = now end
  redis.call('HSET', KEYS[1], 's', state, 'e', text(epoch), 'f', 0, 'n', 0, 'o', string.format('%.3f', opened))
  redis.call('DEL', KEYS[2])
  keep(resetMs)
end
local function remaining(resetMs)
  if state ~= 2 then return 0 end
  return math.max(0, opened + resetMs - now)
end
`;

/** ARGV: id of the probe, resetMs, halfOpenTarget, lease. Replies state, epoch, wait, failures, change. */
export const admitLua = `${begin}
local resetMs = tonumber(ARGV[2])
local changed = 0
if epoch == 0 then become(0, resetMs) end
if state == 0 then
  keep(resetMs)
  return {0, text(epoch), '0', failures, 0}
end
local wait = remaining(resetMs)
if wait > 0 then return {2, text(epoch), tostring(wait), 0, 0} end
if state == 2 then
  become(1, resetMs)
  changed = 2
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) then return {1, text(epoch), '-1', 0, changed} end
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[4]), ARGV[1])
redis.call('PEXPIRE', KEYS[2], tonumber(ARGV[4]))
return {1, text(epoch), '0', 0, changed}
`;

/** ARGV: epoch, outcome, id of the probe, failureThreshold, halfOpenTarget, resetMs. Replies change, failures. */
export const reportLua = `${begin}
local resetMs = tonumber(ARGV[6])
if tonumber(ARGV[1]) ~= epoch or epoch == 0 then return {0, failures} end
if state == 1 then
  if redis.call('ZREM', KEYS[2], ARGV[3]) == 0 then return {0, 0} end
  if ARGV[2] == 'failure' then
    become(2, resetMs)
    return {3, 0}
  end
  if ARGV[2] == 'success' then
    if redis.call('HINCRBY', KEYS[1], 'n', 1) >= tonumber(ARGV[5]) then
      become(0, resetMs)
      return {1, 0}
    end
  end
  return {0, 0}
end
if ARGV[2] == 'success' then
  if failures > 0 then redis.call('HSET', KEYS[1], 'f', 0) end
  return {0, 0}
end
if ARGV[2] == 'failure' then
  failures = redis.call('HINCRBY', KEYS[1], 'f', 1)
  if failures >= tonumber(ARGV[4]) then
    become(2, resetMs)
    return {3, 0}
  end
end
return {0, failures}
`;

/** ARGV: resetMs. Replies state, failures, successes, wait. */
export const snapshotLua = `${begin}
local wait = remaining(tonumber(ARGV[1]))
if state == 2 and wait == 0 then state = 1 end
return {state, failures, successes, tostring(wait)}
`;
