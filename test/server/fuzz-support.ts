import type { ListenAddress } from "../../src/server/transport.js";
import { type ClientResponse, openClient, parseResponses } from "./support.js";

/** The result of some bytes at a server: the requests that got 200, and the refusal at the end, if any. */
export interface Observation {
  readonly seen: readonly string[];
  readonly refusal: number | null;
  /** A result that must never happen. */
  readonly fault: string | null;
}

/** Behind every case: gets a response if all before it was complete, and ends the connection then. */
const sentinel = "GET /sentinel HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

export async function observe(address: ListenAddress, bytes: string): Promise<Observation> {
  const client = await openClient(address, bytes + sentinel);
  const text = await client.readToEnd();
  client.socket.destroy();
  let responses: ClientResponse[];
  try {
    responses = parseResponses(text);
  } catch (error) {
    return { seen: [], refusal: null, fault: String(error) };
  }
  const seen: string[] = [];
  let refusal: number | null = null;
  let fault: string | null = null;
  for (const response of responses) {
    if (refusal !== null) fault = `responded ${response.status} behind a refusal`;
    if (response.status === 200) seen.push(Buffer.from(response.body, "latin1").toString());
    else refusal = response.status;
    if (refusal !== null && refusal >= 500 && refusal !== 501 && refusal !== 505) fault = `responded ${refusal}`;
    if (refusal !== null && response.headers.connection !== "close") fault = "refused without closing";
  }
  return { seen, refusal, fault };
}
