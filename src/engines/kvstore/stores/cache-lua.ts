/**
 * Keys of one part, each beginning with its root `cache:{n}`:
 * - `root:id`, a hash: `n` the lists of varying fields as JSON, newest first; `v:<variant>` an entry, `t:<variant>` its tags
 * - `root:tag:<tag>`, a sorted set: `id variant` of each entry with the tag, by the time at which it ends
 * - `root:dead:<time>:<tag>`, the same for a tag that was invalidated: entries that are not found any more, and are yet to be
 *   deleted
 * - `root:gone:<tag>`: the time of the last invalidation; kept for an hour, which no response takes to make
 *
 * What is dropped or replaced is published in the channel `cache:gone`: ids of entries and tags, with spaces between.
 *
 * KEYS[1] is the root, from which a script makes further keys: all lie on one server. KEYS[2] is the hash of the entry.
 */

const now = `
local time = redis.call('TIME')
local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(micros / 1000)
local function tagKey(tag) return KEYS[1] .. ':tag:' .. tag end
local function goneKey(tag) return KEYS[1] .. ':gone:' .. tag end
-- Without the right to publish, no process could have subscribed either.
local function tell(dropped) redis.pcall('PUBLISH', string.match(KEYS[1], '^(.*){%d+}$') .. 'gone', dropped) end
`;

/** A time that is later than that of every invalidation before. */
const ticket = `
local function ticket(clock)
  local time = redis.call('TIME')
  local micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
  return math.max(micros, tonumber(redis.call('GET', clock) or '0') + 1)
end
`;

/** ARGV: 1 for an invalidation. Replies its time. */
export const beginLua = `${ticket}
local micros = ticket(KEYS[1])
if ARGV[1] == '1' then redis.call('SET', KEYS[1], string.format('%.0f', micros), 'EX', 604800) end
return micros
`;

/**
 * ARGV: lists of fields that the caller knows, a variant for each list. Replies 0 and the lists if they differ, 1 and the
 * entry, or 2 and a ticket for one that is to be made.
 */
export const findLua = `${ticket}
local function missed() return {2, ticket(KEYS[1] .. ':clock')} end
local names = redis.call('HGET', KEYS[2], 'n')
if not names then return missed() end
if names ~= ARGV[1] then return {0, names} end
local id = string.sub(KEYS[2], #KEYS[1] + 2)
for i = 2, #ARGV do
  local found = redis.call('HMGET', KEYS[2], 'v:' .. ARGV[i], 't:' .. ARGV[i])
  if found[1] then
    local sound = true
    for tag in string.gmatch(found[2] or '', '%S+') do
      if not redis.call('ZSCORE', KEYS[1] .. ':tag:' .. tag, id .. ' ' .. ARGV[i]) then
        sound = false
        break
      end
    end
    if sound then return {1, found[1]} end
  end
end
return missed()
`;

/** ARGV: ticket, ttl, variant, its varying fields as JSON, the entry, its tags. Replies 1 if it was kept. */
export const putLua = `${now}
local ticket = tonumber(ARGV[1])
local ttl = tonumber(ARGV[2])
local variant = ARGV[3]
-- What was invalidated an hour ago is not remembered.
if micros - ticket > 3600000000 then return 0 end
for i = 6, #ARGV do
  local gone = redis.call('GET', goneKey(ARGV[i]))
  if gone and tonumber(gone) >= ticket then return 0 end
end
local id = string.sub(KEYS[2], #KEYS[1] + 2)
local member = id .. ' ' .. variant
local old = redis.call('HGET', KEYS[2], 't:' .. variant)
if old then
  for tag in string.gmatch(old, '%S+') do redis.call('ZREM', tagKey(tag), member) end
  tell(id)
end
local lists = {ARGV[4]}
local names = redis.call('HGET', KEYS[2], 'n')
if names then
  -- Lists of names of header fields: no bracket can be part of a name.
  for list in string.gmatch(string.sub(names, 2, -2), '%b[]') do
    if list ~= ARGV[4] and #lists < 4 then lists[#lists + 1] = list end
  end
end
local tags = {}
for i = 6, #ARGV do tags[#tags + 1] = ARGV[i] end
local before = redis.call('PTTL', KEYS[2])
redis.call('HSET', KEYS[2], 'n', '[' .. table.concat(lists, ',') .. ']', 'v:' .. variant, ARGV[5], 't:' .. variant, table.concat(tags, ' '))
if before < ttl then redis.call('PEXPIRE', KEYS[2], ttl) end
-- At most 32 variants of one URL.
if redis.call('HLEN', KEYS[2]) > 65 then
  for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
    local other = string.match(field, '^v:(.*)')
    if other and other ~= variant then
      redis.call('HDEL', KEYS[2], field, 't:' .. other)
      break
    end
  end
end
for _, tag in ipairs(tags) do
  local key = tagKey(tag)
  -- Not all: any number may have expired since.
  local expired = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 100)
  if #expired > 0 then redis.call('ZREM', key, unpack(expired)) end
  redis.call('ZADD', key, now + ttl, member)
  if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
end
return 1
`;

/** Forgets all entries of a key. */
export const removeLua = `${now}
local id = string.sub(KEYS[2], #KEYS[1] + 2)
local fields = redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
  local variant = string.match(fields[i], '^t:(.*)')
  if variant then
    for tag in string.gmatch(fields[i + 1], '%S+') do redis.call('ZREM', tagKey(tag), id .. ' ' .. variant) end
  end
end
tell(id)
return redis.call('DEL', KEYS[2])
`;

/** Deletes some entries of a tag that was invalidated, unless they were stored again. Returns true if there are more. */
const sweep = `
local function sweep(dead)
  local members = redis.call('ZRANGE', dead, 0, 199)
  for _, member in ipairs(members) do
    local id, variant = string.match(member, '^(%S+) (%S+)$')
    local key = KEYS[1] .. ':' .. id
    local tags = redis.call('HGET', key, 't:' .. variant)
    local isDead = false
    for tag in string.gmatch(tags or '', '%S+') do
      isDead = isDead or not redis.call('ZSCORE', tagKey(tag), member)
    end
    if isDead then
      for tag in string.gmatch(tags, '%S+') do redis.call('ZREM', tagKey(tag), member) end
      redis.call('HDEL', key, 'v:' .. variant, 't:' .. variant)
      if redis.call('HLEN', key) <= 1 then redis.call('DEL', key) end
    end
  end
  if #members == 200 then return redis.call('ZREMRANGEBYRANK', dead, 0, 199) > 0 end
  redis.call('DEL', dead)
  return false
end
`;

/** ARGV: the key of the set. Replies 1 if there are more entries to delete. */
export const sweepLua = `${now}${sweep}return sweep(ARGV[1]) and 1 or 0`;

/**
 * ARGV: time of the invalidation, tags. Replies the number of entries that were dropped, and sets of entries to delete. An
 * entry is not found without its tag's set, so that the time does not depend on the number of entries.
 */
export const invalidateLua = `${now}${sweep}
local reply = {0}
for i = 2, #ARGV do
  redis.call('SET', goneKey(ARGV[i]), ARGV[1], 'EX', 3600)
  local key = tagKey(ARGV[i])
  local count = redis.call('ZCOUNT', key, '(' .. now, '+inf')
  if count > 0 then
    local dead = KEYS[1] .. ':dead:' .. ARGV[1] .. ':' .. ARGV[i]
    redis.call('RENAME', key, dead)
    reply[1] = reply[1] + count
    if sweep(dead) then reply[#reply + 1] = dead end
  else
    redis.call('UNLINK', key)
  end
end
tell(table.concat(ARGV, ' ', 2))
return reply
`;
