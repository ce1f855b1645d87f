/**
 * Keys of one room, each beginning with its root `room:{name}`. All lie on one server of a cluster.
 * - `root`, a hash: `last` the id of the last message, `dropped` that of the last one that is no longer kept. A server that has
 *   lost its data has an id there from before its first message
 * - `root:log`, a list: `id text` of each message, oldest first
 * - `root:here`, a sorted set: the clients in the room, by the time in milliseconds at which they are given up
 * - `root:info`, a hash: the information about each of them
 *
 * KEYS: the root, and the two keys that the script uses.
 */

/** KEYS: root, log. ARGV: text, messages to keep, milliseconds to keep them, channel. Replies the id. */
export const sendLua = `
local time = redis.call('TIME')
local last = redis.call('HGET', KEYS[1], 'last')
local number = math.max(tonumber(time[1]) * 1000000 + tonumber(time[2]), tonumber(last or '0') + 1)
local id = string.format('%.0f', number)
if not last then redis.call('HSET', KEYS[1], 'dropped', string.format('%.0f', number - 1)) end
redis.call('HSET', KEYS[1], 'last', id)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if tonumber(ARGV[2]) > 0 then
  redis.call('RPUSH', KEYS[2], id .. ' ' .. ARGV[1])
  while redis.call('LLEN', KEYS[2]) > tonumber(ARGV[2]) do
    redis.call('HSET', KEYS[1], 'dropped', string.match(redis.call('LPOP', KEYS[2]), '^%d+'))
  end
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
redis.call('PUBLISH', ARGV[4], id .. ' ' .. ARGV[1])
return id
`;

/** KEYS: root, log. ARGV: id. Replies 1 if messages after the id may have been dropped, then those that are kept. */
export const sinceLua = `
local known = redis.call('HMGET', KEYS[1], 'last', 'dropped')
local after = tonumber(ARGV[1])
if not known[1] then return {after > 0 and 1 or 0} end
local ahead = after > tonumber(known[1])
local reply = {(ahead or (after > 0 and after < tonumber(known[2] or '0'))) and 1 or 0}
for _, message in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if ahead or tonumber(string.match(message, '^%d+')) > after then reply[#reply + 1] = message end
end
return reply
`;

/** The channel of a room's members gets `joined id info` and `left id info`. It is the first of ARGV of these scripts. */
const exitFunction = `
local function exit(id)
  local info = redis.call('HGET', KEYS[2], id) or 'null'
  redis.call('HDEL', KEYS[2], id)
  if redis.call('ZREM', KEYS[1], id) == 1 then redis.call('PUBLISH', ARGV[1], 'left ' .. id .. ' ' .. info) end
end
`;

/** Gives up the clients of processes that have died. */
const giveUpLua = `${exitFunction}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 1000)) do exit(id) end
`;

/** KEYS: here, info. ARGV: channel, milliseconds after which they are given up, ids and information in turn. */
export const enterLua = `${giveUpLua}
for i = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  if redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[i]) == 1 then
    redis.call('PUBLISH', ARGV[1], 'joined ' .. ARGV[i] .. ' ' .. ARGV[i + 1])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
`;

/** KEYS: here, info. ARGV: channel, id. */
export const exitLua = `${exitFunction}
exit(ARGV[2])
return 1
`;

/**
 * KEYS: here, info. ARGV: channel, the largest number of clients to list. Replies their number, then ids and information in
 * turn.
 */
export const membersLua = `${giveUpLua}
local reply = {redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf')}
if tonumber(ARGV[2]) > 0 then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'LIMIT', 0, ARGV[2])) do
    reply[#reply + 1] = id
    reply[#reply + 1] = redis.call('HGET', KEYS[2], id) or 'null'
  end
end
return reply
`;
