/** The id of a message, as a client gives it back. Null for text that is none of ours. */
export function readEventId(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : null;
}
