/** Bytes that stand for themselves in `grpc-message`: printable ASCII without the percent sign. */
const plain = /^[\x20-\x24\x26-\x7e]*$/;
/** Characters of a message that are sent: headers have a limit, and a message is not a document. */
const maxLength = 4096;

/** Percent-encodes a message (gRPC over HTTP/2, "Status-Message"). */
export function encodeGrpcMessage(message: string): string {
  const short = message.length > maxLength ? message.slice(0, maxLength) : message;
  if (plain.test(short)) return short;
  let encoded = "";
  for (const byte of Buffer.from(short, "utf8")) {
    if (byte >= 0x20 && byte <= 0x7e && byte !== 0x25) encoded += String.fromCharCode(byte);
    else encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Decodes a message. Escapes that are malformed stay as they are. */
export function decodeGrpcMessage(text: string): string {
  if (!text.includes("%")) return text;
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const digits = text.charAt(i) === "%" ? text.slice(i + 1, i + 3) : "";
    if (/^[0-9A-Fa-f]{2}$/.test(digits)) {
      bytes.push(Number.parseInt(digits, 16));
      i += 2;
    } else {
      bytes.push(text.charCodeAt(i) & 0xff);
    }
  }
  return Buffer.from(bytes).toString("utf8");
}
