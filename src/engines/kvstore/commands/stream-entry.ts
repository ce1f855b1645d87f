export interface StreamEntry {
  /** Time and number: `1700000000000-0`. */
  readonly id: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** The reply of XREAD and XREADGROUP for one stream. */
export function asStreams(reply: unknown): StreamEntry[] {
  const streams = reply as [key: string, entries: unknown][] | null;
  return streams === null ? [] : asEntries(streams[0]?.[1] ?? []);
}

/** Entries that were deleted while they were pending have no fields: they are left out. */
export function asEntries(reply: unknown): StreamEntry[] {
  const entries: StreamEntry[] = [];
  for (const [id, flat] of reply as [string, string[] | null][]) {
    if (flat === null) continue;
    const fields: [string, string][] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) fields.push([flat[i]!, flat[i + 1]!]);
    entries.push({ id, fields: Object.fromEntries(fields) });
  }
  return entries;
}
