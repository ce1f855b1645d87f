import { fileURLToPath } from "node:url";

/** The file, line and column of a frame: `at f (file:///a/b.ts:1:2)`, `at async file:///a/b.ts:1:2`, `at /a/b.ts:1:2`. */
export function placeOf(frame: string): string | null {
  const text = frame.trim();
  if (!text.startsWith("at ")) return null;
  const open = text.lastIndexOf("(");
  const place = open !== -1 && text.endsWith(")") ? text.slice(open + 1, -1) : text.slice(text.lastIndexOf(" ") + 1);
  if (!/:\d+:\d+$/.test(place)) return null;
  return place.startsWith("file://") ? pathOf(place) : place;
}

function pathOf(url: string): string {
  const end = url.lastIndexOf(":", url.lastIndexOf(":") - 1);
  return fileURLToPath(url.slice(0, end)) + url.slice(end);
}
