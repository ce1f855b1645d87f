/** True if a version lies in a range of the forms `^1.2.3`, `~1.2.3` and `>=1.2.3`. Other ranges count as met: npm checks them. */
export function fits(version: string, range: string): boolean {
  const [, kind, least = ""] = /^(\^|~|>=)\s*(\d+(?:\.\d+){0,2})$/.exec(range.trim()) ?? [];
  if (kind === undefined) return true;
  const [has, wants] = [numbers(version), numbers(least)];
  if (compare(has, wants) < 0) return false;
  if (kind === ">=") return true;
  // ^ fixes the first number that is not zero, ~ the first two.
  const fixed = kind === "~" ? 2 : wants.findIndex((number) => number > 0) + 1;
  return has.slice(0, fixed).join() === wants.slice(0, fixed).join();
}

function numbers(version: string): number[] {
  const [major = 0, minor = 0, patch = 0] = version.replace(/^v/, "").split(/[.+-]/).map(Number);
  return [major, minor, patch];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const differs = a.findIndex((number, place) => number !== b[place]);
  return differs === -1 ? 0 : a[differs]! - b[differs]!;
}
