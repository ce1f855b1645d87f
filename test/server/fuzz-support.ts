import type { ListenAddress } from "../../src/server/transport.js";
import { type Answer, openClient, parseAnswers } from "./support.js";

/** What a server made of some bytes: the requests it answered with 200, and the refusal that ended it, if any. */
export interface Observation {
  readonly seen: readonly string[];
  readonly refusal: number | null;
  /** What must never happen. */
  readonly fault: string | null;
}

/** Behind every case: answered when all before it was complete, and the end of the connection then. */
const sentinel = "GET /sentinel HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

export async function observe(address: ListenAddress, bytes: string): Promise<Observation> {
  const client = await openClient(address, bytes + sentinel);
  const text = await client.readToEnd();
  client.socket.destroy();
  let answers: Answer[];
  try {
    answers = parseAnswers(text);
  } catch (error) {
    return { seen: [], refusal: null, fault: String(error) };
  }
  const seen: string[] = [];
  let refusal: number | null = null;
  let fault: string | null = null;
  for (const answer of answers) {
    if (refusal !== null) fault = `answered ${answer.status} behind a refusal`;
    if (answer.status === 200) seen.push(Buffer.from(answer.body, "latin1").toString());
    else refusal = answer.status;
    if (refusal !== null && refusal >= 500 && refusal !== 501 && refusal !== 505) fault = `answered ${refusal}`;
    if (refusal !== null && answer.headers.connection !== "close") fault = "refused without closing";
  }
  return { seen, refusal, fault };
}
