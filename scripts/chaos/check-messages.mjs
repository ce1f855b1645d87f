/**
 * Checks a ledger of messages. Every confirmed message is handled at least once. The first handling of the messages of a key is
 * in their order. Messages are handled twice only where faults explain it: at most the messages that were under way, for each
 * fault. A handler that blocked the event loop is one too.
 */
export function checkMessages(ledger, { faults, underWay, ordered }) {
  const sent = ledger.read("sent");
  const handled = ledger.read("handled");
  const times = new Map();
  for (const { id } of handled) times.set(id, (times.get(id) ?? 0) + 1);
  const failures = [];
  const lost = sent.filter(({ id }) => !times.has(id));
  if (lost.length > 0) failures.push(`lost: ${lost.length} confirmed messages, as ${lost[0].id}`);
  const doubled = [...times.values()].filter((count) => count > 1).length;
  const blocked = ledger.read("blocked").length;
  const count = Object.values(faults).reduce((sum, number) => sum + number, blocked);
  if (doubled > count * underWay) failures.push(`doubled: ${doubled} messages after ${count} faults`);
  const last = new Map();
  let reordered = 0;
  let example = "";
  const seen = new Set();
  for (const { key, number, id } of handled) {
    if (seen.has(id)) continue;
    seen.add(id);
    if (number < (last.get(key) ?? -1)) {
      reordered++;
      example ||= `${id} after ${last.get(key)}`;
    } else last.set(key, number);
  }
  if (ordered && reordered > 0) failures.push(`reordered: ${reordered} messages, as ${example}`);
  if (sent.length === 0) failures.push("nothing was sent");
  const unsure = ledger.read("unsure").length;
  return { counts: { sent: sent.length, unsure, handled: times.size, doubled, reordered, blocked }, failures };
}
