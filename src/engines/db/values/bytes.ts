/** bytea in either of its text forms: `\x0aff`, or the old one with octal escapes (`bytea_output = escape`). */
export function parseBytes(text: string): Buffer {
  if (text.startsWith("\\x")) return Buffer.from(text.slice(2), "hex");
  const unescaped = text.replace(/\\(\\|[0-7]{3})/g, (_, code: string) =>
    code === "\\" ? "\\" : String.fromCharCode(Number.parseInt(code, 8)),
  );
  return Buffer.from(unescaped, "latin1");
}

export function formatBytes(bytes: Uint8Array): string {
  return `\\x${asBuffer(bytes).toString("hex")}`;
}

/** The same bytes as a Buffer, not copied. */
export function asBuffer(view: ArrayBufferView | ArrayBufferLike): Buffer {
  if (Buffer.isBuffer(view)) return view;
  return ArrayBuffer.isView(view) ? Buffer.from(view.buffer, view.byteOffset, view.byteLength) : Buffer.from(view);
}
