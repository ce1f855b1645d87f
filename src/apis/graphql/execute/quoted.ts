/** A string as JSON. Strings without characters to escape, the usual case, are not passed to JSON.stringify. */
export function quoted(text: string): string {
  if (text.length > 40) return special.test(text) ? JSON.stringify(text) : `"${text}"`;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // Surrogates too: a lone one is escaped.
    if (unit < 32 || unit === 34 || unit === 92 || (unit >= 0xd800 && unit <= 0xdfff)) return JSON.stringify(text);
  }
  return `"${text}"`;
}

const special = /[\u0000-\u001f"\\\ud800-\udfff]/;
