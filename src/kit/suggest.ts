/** The candidate closest to `given`, if no more than `limit` letters differ. */
export function closest(
  given: string,
  candidates: Iterable<string>,
  limit = Math.max(2, Math.floor(given.length / 3)),
): string | undefined {
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    const distance = editDistance(given.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `"; did you mean 'x'?"`, or nothing. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  const known = [...candidates];
  const candidate = closest(given, known) ?? contained(given, known) ?? sameStart(given, known);
  return candidate === undefined ? "" : `; did you mean '${candidate}'?`;
}

/** The longest candidate that is a part of `given`, such as `origins` in `allowOrigins`. */
function contained(given: string, candidates: readonly string[]): string | undefined {
  const text = given.toLowerCase();
  const parts = candidates.filter((name) => name.length >= 4 && text.includes(name.toLowerCase()));
  return parts.sort((a, b) => b.length - a.length)[0];
}

/** The only candidate with the same first four letters, such as `retry` for `retries`. */
function sameStart(given: string, candidates: readonly string[]): string | undefined {
  const start = given.slice(0, 4).toLowerCase();
  const alike = candidates.filter((name) => start.length === 4 && name.toLowerCase().startsWith(start));
  return alike.length === 1 ? alike[0] : undefined;
}

/** Letters that are missing, too many or wrong, and neighbours that are swapped, count as one mistake each. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwapped ? before[j - 2]! + 1 : substitution;
      current[j] = Math.min(previous[j]! + 1, current[j - 1]! + 1, substitution, swap);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length]!;
}
