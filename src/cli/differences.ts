/**
 * The places where JSON values differ, as lines that begin with - for what only the first has, + for what only the second has
 * and ~ for a value that changed; the place is a JSON Pointer (RFC 6901).
 */
export function differences(before: unknown, after: unknown, at = ""): string[] {
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) {
    return before === after ? [] : [`~ ${at || "/"}: ${brief(before)} -> ${brief(after)}`];
  }
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => {
    const place = `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (!Object.hasOwn(after, key)) return [`- ${place}`];
    if (!Object.hasOwn(before, key)) return [`+ ${place}`];
    return differences(before[key], after[key], place);
  });
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
