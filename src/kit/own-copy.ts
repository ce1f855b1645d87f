/**
 * A copy of a text with its own memory. V8 keeps a text that was cut out of another one as a view, so a few characters
 * of a header would keep the whole head of their request alive. Views begin at 13 characters.
 */
export function ownCopy(text: string): string {
  if (text.length < 13) return text;
  const encoding = isAscii(text) ? "latin1" : "utf16le";
  return Buffer.from(text, encoding).toString(encoding);
}

/** Bytes of a text in memory: one per character, or two as soon as one character needs two. */
export function textSize(text: string): number {
  return (isAscii(text) ? text.length : text.length * 2) + 24;
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
