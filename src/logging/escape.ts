// C0 and C1 controls (escape sequences begin with one of them), the line separators that some viewers break lines at,
// and the marks that turn the reading direction, by which a text can pose as another.
const unsafe = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const allUnsafe = new RegExp(unsafe, "g");

/** Makes text safe to show in a terminal: it stays on its line and moves no cursor. */
export function escapeText(text: string): string {
  return unsafe.test(text) ? text.replace(allUnsafe, escapeCharacter) : text;
}

/** JSON text is safe except for characters that JSON does not require to be escaped. */
export function escapeJson(json: string): string {
  return unsafe.test(json) ? json.replace(allUnsafe, unicodeEscape) : json;
}

function escapeCharacter(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\r") return "\\r";
  if (character === "\t") return "\\t";
  const code = character.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : unicodeEscape(character);
}

export function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
