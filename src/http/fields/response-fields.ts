import type { HeaderOwner } from "./headers.js";

/*
 * Header fields of a response as middleware deals with them on every request: names and values are known to be sound, and
 * nothing is made but what is sent. A handler may have set any of them itself, in any case, so nothing here doubles one.
 */

/** The value of a field; the first when there are several. */
export function fieldOf(response: HeaderOwner, name: string): string | undefined {
  const fields = response.fields;
  if (fields !== null) {
    for (let i = 0; i < fields.length; i += 2) if (isSameName(fields[i]!, name)) return fields[i + 1];
  }
  return undefined;
}

/** Sets a field in place of every value it had. */
export function setField(response: HeaderOwner, name: string, value: string): void {
  const fields = response.fields;
  if (fields === null) {
    response.fields = [name, value];
    return;
  }
  let found = false;
  for (let i = 0; i < fields.length; i += 2) {
    if (!isSameName(fields[i]!, name)) continue;
    if (found) {
      fields.splice(i, 2);
      i -= 2;
    } else {
      fields[i + 1] = value;
      found = true;
    }
  }
  if (!found) fields.push(name, value);
}

/** Sets a field unless there is one. */
export function setMissingField(response: HeaderOwner, name: string, value: string): void {
  if (fieldOf(response, name) === undefined) (response.fields ??= []).push(name, value);
}

/** Adds a request field on which the response depends to Vary. */
export function addVary(response: HeaderOwner, name: string): void {
  const fields = response.fields;
  if (fields === null) {
    response.fields = ["Vary", name];
    return;
  }
  let at = -1;
  for (let i = 0; i < fields.length; i += 2) {
    if (!isSameName(fields[i]!, "Vary")) continue;
    if (includesName(fields[i + 1]!, name)) return;
    at = i + 1;
  }
  if (at === -1) fields.push("Vary", name);
  else fields[at] = fields[at]!.trim() === "" ? name : `${fields[at]}, ${name}`;
}

export function isSameName(a: string, b: string): boolean {
  return a === b || (a.length === b.length && a.toLowerCase() === b.toLowerCase());
}

function includesName(list: string, name: string): boolean {
  if (list === name) return true;
  if (list.length < name.length && !list.includes("*")) return false;
  const wanted = name.toLowerCase();
  return list.split(",").some((item) => {
    const trimmed = item.trim();
    return trimmed === "*" || trimmed.toLowerCase() === wanted;
  });
}
