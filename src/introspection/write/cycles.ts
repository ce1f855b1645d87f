/**
 * Whether a mention of one class in another lies on a circle of mentions. The compiler does not follow those that stand in a
 * getter; all others must not lead back.
 */
export function circles(mentions: ReadonlyMap<string, ReadonlySet<string>>): (from: string, to: string) => boolean {
  const reached = new Map<string, ReadonlySet<string>>();
  const from = (start: string): ReadonlySet<string> => {
    const known = reached.get(start);
    if (known) return known;
    const found = new Set<string>([start]);
    for (const each of found) for (const next of mentions.get(each) ?? []) found.add(next);
    reached.set(start, found);
    return found;
  };
  return (source, target) => from(target).has(source);
}
