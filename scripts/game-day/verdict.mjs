/**
 * The verdict on a run: pure functions from the ledger of the clients and the tables that are left to a list of failures and
 * counts. `read(kind)` gives the entries of the ledger in the order of their time.
 */

/** Statuses by which a server or a balancer tells that it cannot serve now. */
const unavailable = [502, 503, 504];
/** Errors of a connection that broke before the response. A client that waits for longer than all limits has "timeout". */
const broken = ["ECONNRESET", "EPIPE", "socket hang up", "aborted"];

/** Milliseconds after a write is confirmed from which no cached page may be older: the documented 10 seconds, and slack. */
const staleBound = 13_000;

/** Milliseconds after a fault in which a limit may still be counted by the supervisors of the machines. */
const limitSlack = 10_000;

/** Milliseconds after a fault in which requests may still fail because of it. */
const failureSlack = 10_000;

/** Milliseconds after the collector is back in which something of each kind must have been exported. */
const exportSlack = 60_000;
/** Milliseconds before a fault of the collector in which no request may have failed, if it is to be compared with the time before. */
const quietTime = 10_000;

export function judge({ read, tables, faults, machines, ordered, alone = [], exported = [], lostSpans = 0 }) {
  const failures = [];
  const counts = {};
  const report = (name, list) => {
    if (list.length > 0) failures.push(`${name}: ${list.length}, as ${list[0]}`);
  };
  const checks = [
    checkOrders,
    checkTicks,
    checkJobs,
    checkRooms,
    checkSessions,
    checkLimits,
    checkPages,
    checkEnds,
    checkErrors,
    checkExports,
  ];
  for (const check of checks) {
    check({ read, tables, faults, machines, ordered, alone, exported, lostSpans, report, counts });
  }
  report(
    "seen by clients",
    read("violation").map(({ text }) => text),
  );
  counts["not readable after 5 s"] = read("unread").length;
  return { failures, counts };
}

/** Every confirmed order is there, its saga has ended as its customer says, and its effects are there once. */
function checkOrders({ read, tables, report, counts }) {
  const placed = new Map(read("order").map((order) => [order.id, order]));
  const stored = new Map(tables.orders.map((order) => [order.id, order]));
  const confirmed = read("ordered").map(({ id }) => id);
  report(
    "confirmed orders that are lost",
    confirmed.filter((id) => !stored.has(id)),
  );
  report(
    "orders without a saga",
    [...stored.keys()].filter((id) => !tables.sagas.some((saga) => saga.id === `checkout-${id}`)),
  );
  const wanted = (id) => (placed.get(id)?.broke ? "compensated" : "completed");
  report(
    "sagas without their end",
    tables.sagas
      .filter(({ id, status }) => status !== wanted(id.slice("checkout-".length)))
      .map(({ id, status }) => `${id} (${status})`),
  );
  report(
    "orders in a wrong state",
    [...stored.values()]
      .filter(({ id, status }) => status !== (placed.get(id)?.broke ? "refused" : "confirmed"))
      .map(({ id, status }) => `${id} (${status})`),
  );
  const shipped = countBy(tables.shipments, ({ order_id }) => order_id);
  const good = [...stored.keys()].filter((id) => !placed.get(id)?.broke);
  report(
    "orders that were not shipped once",
    good.filter((id) => shipped.get(id) !== 1).map((id) => `${id} (${shipped.get(id) ?? 0} times)`),
  );
  report(
    "shipments without an order",
    [...shipped.keys()].filter((id) => !good.includes(id)),
  );
  const paid = tables.payments.filter(({ refunded }) => !refunded).map(({ key }) => key.slice("checkout-".length));
  report("payments that do not fit", [
    ...good.filter((id) => !paid.includes(id)),
    ...paid.filter((id) => !good.includes(id)),
  ]);
  const sold = good.reduce((sum, id) => sum + placed.get(id).quantity, 0);
  if (tables.stock !== tables.initialStock - sold) {
    report("stock", [`${tables.initialStock - tables.stock} are gone, ${sold} were sold`]);
  }
  const mails = countBy(tables.mails, ({ subject }) => subject.split(" ")[1]);
  report(
    "orders without a mail",
    [...stored.keys()].filter((id) => !mails.has(id)),
  );
  const events = countBy(tables.events, ({ stream }) => stream);
  report(
    "orders without exactly two events",
    [...stored.keys()].filter((id) => events.get(`order-${id}`) !== 2),
  );
  Object.assign(counts, {
    orders: stored.size,
    "over gRPC": read("ordered").filter(({ way }) => way === "grpc").length,
    "over GraphQL": read("ordered").filter(({ way }) => way === "graphql").length,
    refused: stored.size - good.length,
    unsure: placed.size - confirmed.length,
    "mails sent twice": [...mails.values()].filter((count) => count > 1).length,
  });
}

/** Every confirmed message has its effect once, in the order of its key where the broker keeps it. */
function checkTicks({ read, tables, ordered, report, counts }) {
  const ticked = read("ticked");
  const seen = countBy(tables.ticks, ({ key, number }) => `${key}-${number}`);
  report(
    "confirmed messages without an effect",
    ticked.map(({ key, number }) => `${key}-${number}`).filter((id) => !seen.has(id)),
  );
  report(
    "messages with a second effect",
    [...seen].filter(([, count]) => count > 1).map(([id]) => id),
  );
  const last = new Map();
  const reordered = [];
  for (const { key, number } of tables.ticks) {
    if (number < (last.get(key) ?? 0)) reordered.push(`${key}-${number} after ${last.get(key)}`);
    last.set(key, number);
  }
  if (ordered) report("messages out of the order of their key", reordered);
  counts.messages = ticked.length;
  counts.reordered = reordered.length;
}

/** Every confirmed job has run, and one that was asked for several times is one job. An attempt may run twice. */
function checkJobs({ read, tables, report, counts }) {
  const enqueued = read("enqueued");
  const ran = new Map();
  for (const { number, job } of tables.work) ran.set(number, [...(ran.get(number) ?? []), job]);
  report(
    "confirmed jobs that did not run",
    enqueued.map(({ number }) => number).filter((number) => !ran.has(number)),
  );
  report(
    "jobs that are there twice",
    [...ran].filter(([, ids]) => new Set(ids).size > 1).map(([number]) => number),
  );
  report(
    "jobs that were answered with another id",
    enqueued
      .filter(({ number, id }) => ran.has(number) && !ran.get(number).includes(String(id)))
      .map(({ number }) => number),
  );
  counts.jobs = enqueued.length;
  counts["jobs run twice"] = [...ran.values()].filter((ids) => ids.length > 1).length;
}

/** True if a confirmed write was only known to a server of Redis whose place a replica took without it. */
function wasForgotten(faults, { from, to }) {
  return faults.some(({ lost }) => lost && from <= lost.to && to >= lost.from);
}

/** Tokens and sessions are not accepted after their end, unless the store forgot it. */
function checkEnds({ read, faults, report, counts }) {
  const accepted = read("accepted");
  const forgotten = accepted.filter((times) => wasForgotten(faults, times));
  report(
    "accepted after their end",
    accepted.filter((one) => !forgotten.includes(one)).map(({ what }) => what),
  );
  counts.revoked = read("revoked").length;
  counts["ended sessions"] = read("logged out").length;
  counts["ends forgotten in a failover"] = forgotten.length;
}

/** A client of a room gets each message that was confirmed after it had joined once and in order, or is told of a gap. */
function checkRooms({ read, faults, report, counts }) {
  const sent = new Map();
  const sending = new Map(read("sending").map(({ room, n, time }) => [`${room} ${n}`, BigInt(time)]));
  for (const { room, n } of kept(read("sent"), faults)) {
    if (!sent.has(room)) sent.set(room, []);
    sent.get(room).push(n);
  }
  const clients = new Map();
  for (const kind of ["joined", "heard", "gap"]) {
    for (const entry of read(kind)) {
      if (!clients.has(entry.client)) clients.set(entry.client, { room: entry.room, entries: [] });
      clients.get(entry.client).entries.push(entry);
    }
  }
  counts["room messages"] = 0;
  counts.gaps = read("gap").length;
  for (const [client, { room, entries }] of clients) {
    entries.sort((a, b) => (BigInt(a.time) < BigInt(b.time) ? -1 : 1));
    const joined = entries.find(({ kind }) => kind === "joined");
    if (joined === undefined) continue;
    const confirmed = (sent.get(room) ?? []).filter((n) => sending.get(`${room} ${n}`) > BigInt(joined.time));
    const stream = entries.map(({ kind, n }) => (kind === "heard" ? n : kind === "gap" ? "gap" : null)).filter(Boolean);
    const { lost, doubled, reordered } = followed(stream, confirmed);
    report(`messages that client ${client} of room ${room} lost without a gap`, lost);
    report(`messages that client ${client} of room ${room} got twice`, doubled);
    report(`messages that client ${client} of room ${room} got out of order`, reordered);
    counts["room messages"] += stream.filter((n) => n !== "gap").length;
  }
}

/** Entries of confirmed writes that the store cannot have forgotten. */
function kept(entries, faults) {
  return entries.filter((times) => !wasForgotten(faults, times));
}

/**
 * Compares a stream of numbers and gaps with the numbers that were confirmed, which is the order in which they were sent. A
 * number that was not confirmed may be missing, and may come at any place.
 */
export function followed(stream, confirmed) {
  const known = new Set(confirmed);
  const seen = new Set();
  const doubled = [];
  const reordered = [];
  let lost = [];
  let place = 0;
  let gap = false;
  for (const item of stream) {
    if (item === "gap") {
      gap = true;
      continue;
    }
    if (seen.has(item)) {
      doubled.push(item);
      continue;
    }
    seen.add(item);
    if (!known.has(item)) continue;
    const at = confirmed.indexOf(item);
    if (at < place) {
      reordered.push(item);
      continue;
    }
    if (!gap) lost = lost.concat(confirmed.slice(place, at));
    place = at + 1;
    gap = false;
  }
  if (!gap) lost = lost.concat(confirmed.slice(place));
  return { lost: lost.filter((n) => !seen.has(n)), doubled, reordered };
}

/** Within a session of a subscription nothing is missing between its first and its last event, and nothing after it at the end. */
function checkSessions({ read, faults, report, counts }) {
  const confirmed = kept(read("sent"), faults)
    .filter(({ room }) => room === "ticked")
    .map(({ n }) => n);
  const sessions = new Map();
  for (const { session, n } of read("next")) {
    if (!sessions.has(session)) sessions.set(session, []);
    sessions.get(session).push(n);
  }
  const open = new Set(
    read("session end")
      .filter(({ closing, told }) => closing && !told)
      .map(({ session }) => session),
  );
  for (const [session, stream] of sessions) {
    const first = confirmed.findIndex((n) => stream.includes(n));
    if (first < 0) continue;
    const last = open.has(session) ? confirmed.length - 1 : confirmed.findLastIndex((n) => stream.includes(n));
    const { lost, doubled, reordered } = followed(stream, confirmed.slice(first, last + 1));
    report(`events that session ${session} lost`, lost);
    report(`events that session ${session} got twice`, doubled);
    report(`events that session ${session} got out of order`, reordered);
  }
  counts.sessions = sessions.size;
}

/** True if a machine may count a limit without the store: because of this fault it cannot reach it in time. */
function partsFromStore({ kind, target }) {
  return kind.includes("redis") || kind.startsWith("freeze") || target === "redis" || target === "engines";
}

/**
 * A limit is exact over all machines. While the store is away the supervisor of each machine counts. That is so too where a
 * machine has logged that it counts alone (`alone`, times): its store was too slow, as on a busy machine.
 */
function checkLimits({ read, faults, machines, alone, report, counts }) {
  const wrong = [];
  let exact = 0;
  for (const { key, from, to, allowed, unknown, limit } of read("limited")) {
    const hurt =
      alone.some((at) => at > from - limitSlack && at < to + limitSlack) ||
      faults.some(
        (fault) =>
          partsFromStore(fault) && fault.begin < to && (fault.end ?? Number.POSITIVE_INFINITY) + limitSlack > from,
      );
    const most = hurt ? limit * (machines + 1) : limit;
    const least = hurt || unknown > 0 ? 0 : limit;
    if (allowed > most || allowed < least) wrong.push(`${key}: ${allowed} of ${limit}${hurt ? " in a fault" : ""}`);
    if (!hurt && unknown === 0) exact++;
  }
  report("limits that were not kept", wrong);
  counts["limits exact"] = exact;
}

/** A page is not older than the last write that was confirmed before the bound. */
function checkPages({ read, faults, report, counts }) {
  const written = kept(read("written"), faults);
  const stale = [];
  let behind = 0;
  for (const page of read("page")) {
    const before = (milliseconds) =>
      written.findLast(({ key, to }) => key === page.key && to < page.at - milliseconds)?.value ?? 0;
    if (page.value < before(0)) behind++;
    if (page.value < before(staleBound)) stale.push(`${page.key} ${page.value} after ${before(staleBound)}`);
  }
  report("stale pages", stale);
  counts.pages = read("page").length;
  counts["pages behind"] = behind;
}

/** Errors are only of the documented kinds, and only near a fault. That the collector is away is none for requests. */
function checkErrors({ read, faults, report, counts }) {
  const http = read("http");
  const failed = http.filter(({ ok }) => !ok);
  report(
    "undocumented errors",
    failed
      .filter(({ status, error }) => (error === undefined ? !unavailable.includes(status) : !broken.includes(error)))
      .map(
        ({ op, at, status, error, text }) => `${op} at ${new Date(at).toISOString()}: ${status ?? error} ${text ?? ""}`,
      ),
  );
  const causes = faults.filter(({ kind }) => !kind?.includes("collector"));
  const near = ({ at, ms = 0 }) =>
    causes.some(({ begin, end }) => begin < at + ms && (end ?? Number.POSITIVE_INFINITY) + failureSlack > at);
  report(
    "requests that failed far from any fault",
    failed
      .filter((one) => !near(one))
      .map(({ op, at, status, error }) => `${op} at ${new Date(at).toISOString()}: ${status ?? error}`),
  );
  counts.requests = http.length;
  counts.errors = failed.length;
}

/** Milliseconds by which the median must be longer to count: a request that waits for the collector waits for longer. */
const slowerBy = 500;

/**
 * While the collector is away no request fails or becomes slow, and spans and metrics come again afterwards. A fault is judged
 * if no other one is near, and nothing failed right before.
 */
function checkExports({ read, faults, exported, lostSpans, report, counts }) {
  const http = read("http");
  const [failed, slow, silent] = [[], [], []];
  let judged = 0;
  for (const fault of faults.filter(({ back }) => back !== undefined)) {
    const { name, begin, back } = fault;
    const since = exported.filter(({ at }) => at >= back && at < back + exportSlack);
    for (const kind of ["traces", "metrics"]) {
      if (!since.some((one) => one.kind === kind)) silent.push(`${kind} after ${name}`);
    }
    const isNear = (other) => other !== fault && other.begin < back && (other.end ?? back) > begin - quietTime;
    const before = http.filter(({ at }) => at >= begin - quietTime && at < begin);
    const during = http.filter(({ at }) => at >= begin && at < back);
    if (faults.some(isNear) || before.length === 0 || before.some(({ ok }) => !ok)) continue;
    judged++;
    for (const { ok, op, status, error } of during) if (!ok) failed.push(`${op} ${status ?? error} during ${name}`);
    const [usual, then] = [before, during].map((list) => median(list.map(({ ms }) => ms)));
    if (then === null || then > Math.max(3 * usual, usual + slowerBy)) {
      slow.push(`${then} ms after ${usual} ms during ${name}`);
    }
  }
  report("requests that failed because of the collector", failed);
  report("requests that became slow because of the collector", slow);
  report("nothing was exported", silent);
  const sum = (wanted) => exported.reduce((total, { kind, count }) => total + (kind === wanted ? count : 0), 0);
  counts["spans exported"] = sum("traces");
  counts["metrics exported"] = sum("metrics");
  counts["spans lost, as logged"] = lostSpans;
  counts["times without the collector compared"] = judged;
}

/** The middle one of the durations; null without any. */
function median(durations) {
  return durations.length === 0 ? null : [...durations].sort((a, b) => a - b)[Math.floor(durations.length / 2)];
}

function countBy(list, key) {
  const counts = new Map();
  for (const item of list) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}

/** Milliseconds below which 99 of 100 of the durations are; null without any. */
export function p99(durations) {
  if (durations.length === 0) return null;
  const sorted = [...durations].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))];
}

/**
 * For each fault the seconds from its end until the p99 of a second is at most twice the level before the first fault; null if
 * it was not reached before the next fault.
 */
export function recoveries(http, faults) {
  if (faults.length === 0) return [];
  const level = p99(http.filter(({ at }) => at < faults[0].begin).map(({ ms }) => ms)) ?? 0;
  const seconds = new Map();
  for (const { at, ms } of http) {
    const second = Math.floor(at / 1000);
    if (!seconds.has(second)) seconds.set(second, []);
    seconds.get(second).push(ms);
  }
  return faults.map(({ name, end }, index) => {
    const next = faults[index + 1]?.begin ?? Number.POSITIVE_INFINITY;
    for (let second = Math.ceil(end / 1000); second * 1000 < Math.min(next, end + 60_000); second++) {
      const value = p99(seconds.get(second) ?? []);
      if (value !== null && value <= 2 * level) return { name, level, seconds: second + 1 - end / 1000 };
    }
    return { name, level, seconds: null };
  });
}
