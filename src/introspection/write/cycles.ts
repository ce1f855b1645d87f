/**
 * Returns a function that is true if a mention of one class in another is part of a cycle of mentions. Such a mention
 * must stand in a getter, because the compiler does not follow getters.
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
