/** The trace context of a caller, as its `traceparent` header says it. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

export const sampledFlag = 1;
/** Level 2 of the specification: at least the last seven bytes of the trace id are random. */
export const randomFlag = 2;

const noTrace = "0".repeat(32);
const noSpan = "0".repeat(16);

/**
 * Reads a `traceparent` header (W3C Trace Context, section 3.2); null if it is not valid. Of a later version the known
 * part is read. A repeated header is not valid: its values are joined by commas. Written without a regular expression:
 * it runs for every request.
 */
export function readTraceParent(header: string): TraceParent | null {
  const text = header.trim();
  if (text.length < 55 || text.charCodeAt(2) !== dash || text.charCodeAt(35) !== dash) return null;
  if (text.charCodeAt(52) !== dash || !isHex(text, 0, 2) || !isHex(text, 3, 35)) return null;
  if (!isHex(text, 36, 52) || !isHex(text, 53, 55)) return null;
  const version = text.slice(0, 2);
  if (version === "ff") return null;
  if (text.length > 55 && (version === "00" || text.charCodeAt(55) !== dash || text.includes(","))) return null;
  const traceId = text.slice(3, 35);
  const spanId = text.slice(36, 52);
  if (traceId === noTrace || spanId === noSpan) return null;
  return { traceId, spanId, flags: Number.parseInt(text.slice(53, 55), 16) & (sampledFlag | randomFlag) };
}

export function writeTraceParent(traceId: string, spanId: string, flags: number): string {
  return `00-${traceId}-${spanId}-0${flags}`;
}

const dash = 0x2d;

/** True if the characters are hexadecimal digits, in lower case as the specification demands. */
function isHex(text: string, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    if (!((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66))) return false;
  }
  return true;
}
