/**
 * The value of a Content-Disposition field (RFC 6266). No name can end the field or the quotes: a path is reduced to
 * its last component and control characters become "_".
 */
export function contentDisposition(kind: "attachment" | "inline", filename: string): string {
  const lastComponent = filename.slice(Math.max(filename.lastIndexOf("/"), filename.lastIndexOf("\\")) + 1);
  const name = lastComponent.toWellFormed().replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, "_");
  if (name === "") return kind;
  // Appendix D: some browsers decode percent escapes in the plain form, so such a name needs the other one too.
  const plain = name.replace(/[^\x20-\x7e]|["%\\]/gu, "_");
  if (plain === name) return `${kind}; filename="${name}"`;
  return `${kind}; filename="${plain}"; filename*=UTF-8''${extValue(name)}`;
}

/** RFC 8187 section 3.2.1: `encodeURIComponent` leaves some characters that may not stand there. */
function extValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
