import { type GrpcCall, GrpcChannel, GrpcError, type GrpcServiceConfig } from "stoa/grpc";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Echo } from "./fixtures/echo_pb.js";
import { type RunningApp, serve } from "./support.js";

/** What the server has seen of attempts, by the text of their message and the number of attempts before. */
const seen = { begun: [] as string[], cancelled: [] as string[] };

/** The response to an attempt. */
type Behaviour = (attempt: string) => Promise<{ text: string }> | { text: string };
let behave: Behaviour;
let running: RunningApp;

const hang = (): Promise<never> => new Promise(() => {});
const answer = (attempt: string) => ({ text: `from ${attempt}` });
const fails = (code: "UNAVAILABLE" | "ABORTED", pushback?: string): never => {
  throw new GrpcError(
    code,
    "not yet",
    pushback === undefined ? {} : { metadata: { "grpc-retry-pushback-ms": pushback } },
  );
};

beforeAll(async () => {
  const respond = ({ metadata, signal }: Pick<GrpcCall, "metadata" | "signal">, text = "") => {
    const attempt = `${text}${metadata.get("grpc-previous-rpc-attempts") ?? "0"}`;
    seen.begun.push(attempt);
    const gone = new Promise<never>((_resolve, reject) => {
      const onAbort = (): void => {
        seen.cancelled.push(attempt);
        reject(new GrpcError("CANCELLED", "gone"));
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort);
    });
    gone.catch(() => {});
    return Promise.race([gone, (async () => behave(attempt))()]);
  };
  running = await serve((app) => {
    app.addGrpcService(Echo, {
      say: ({ text }, call) => respond(call, text),
      async *count(_message, call) {
        yield await respond(call);
        yield { number: 2 };
      },
      async collect(messages, call) {
        const texts: string[] = [];
        for await (const { text } of messages) texts.push(text);
        const { text } = await respond(call);
        return { text: `${texts.join(" ")} ${text}`, number: texts.length };
      },
    });
  });
});

afterAll(() => running.close());

beforeEach(() => {
  Object.assign(seen, { begun: [], cancelled: [] });
});

type HedgingPolicy = NonNullable<NonNullable<GrpcServiceConfig["methodConfig"]>[number]["hedgingPolicy"]>;

function clientWith(hedgingPolicy: Partial<HedgingPolicy>, more: GrpcServiceConfig = {}) {
  const policy = { maxAttempts: 3, ...hedgingPolicy };
  const serviceConfig = { methodConfig: [{ name: [{}], hedgingPolicy: policy }], ...more };
  const channel = new GrpcChannel(running.target, { serviceConfig, timeout: "1m" });
  onTestFinished(() => channel.close());
  return channel.client(Echo);
}

const endless: Partial<HedgingPolicy> = { hedgingDelay: "1h", nonFatalStatusCodes: ["UNAVAILABLE"] };

describe("hedging by a service config", () => {
  it("The next attempt begins beside a slow one, the first response counts, and the slow one is cancelled", async () => {
    behave = (attempt) => (attempt === "1" ? answer(attempt) : hang());
    let headers = 0;
    let trailers = 0;
    const options = { onHeaders: () => void headers++, onTrailers: () => void trailers++ };
    const client = clientWith({ maxAttempts: 2, hedgingDelay: "0.005s" });
    expect((await client.say({}, options)).text).toBe("from 1");
    await expect.poll(() => seen).toEqual({ begun: ["0", "1"], cancelled: ["0"] });
    expect([headers, trailers]).toEqual([1, 1]);
  });

  it("Without a delay all begin at once, and five are the most", async () => {
    behave = async (attempt) => {
      await expect.poll(() => seen.begun.length).toBe(5);
      return attempt === "3" ? answer(attempt) : hang();
    };
    expect((await clientWith({ maxAttempts: 9 }).say({})).text).toBe("from 3");
    await expect.poll(() => seen.cancelled.toSorted()).toEqual(["0", "1", "2", "4"]);
    expect(seen.begun.length).toBe(5);
  });

  it("A fast response is the only attempt", async () => {
    behave = answer;
    expect((await clientWith(endless).say({})).text).toBe("from 0");
    expect(seen.begun).toEqual(["0"]);
  });

  it("A status that is not fatal begins the next attempt at once, and the last one is the error of the call", async () => {
    behave = (attempt) => (attempt === "2" ? answer(attempt) : fails("UNAVAILABLE"));
    expect((await clientWith(endless).say({})).text).toBe("from 2");
    seen.begun = [];
    await expect(clientWith({ ...endless, maxAttempts: 2 }).say({})).rejects.toMatchObject({
      statusName: "UNAVAILABLE",
    });
    expect(seen.begun).toEqual(["0", "1"]);
  });

  it("Any other status ends the call and its attempts", async () => {
    behave = async (attempt) => {
      await expect.poll(() => seen.begun.length).toBe(2);
      return attempt === "0" ? hang() : fails("ABORTED");
    };
    const client = clientWith({ maxAttempts: 2, nonFatalStatusCodes: ["UNAVAILABLE"] });
    await expect(client.say({})).rejects.toMatchObject({ statusName: "ABORTED" });
    await expect.poll(() => seen.cancelled).toEqual(["0"]);
  });

  it("The server delays the next attempt, or forbids it", async () => {
    behave = (attempt) => fails("UNAVAILABLE", attempt === "0" ? "1" : "-1");
    await expect(clientWith({ ...endless, maxAttempts: 5 }).say({})).rejects.toThrow("not yet");
    expect(seen.begun).toEqual(["0", "1"]);
  });

  it("No attempt begins while half of the tokens are gone", async () => {
    behave = () => fails("UNAVAILABLE");
    const client = clientWith({ ...endless, maxAttempts: 5 }, { retryThrottling: { maxTokens: 4, tokenRatio: 1 } });
    await expect(client.say({})).rejects.toThrow("not yet");
    await expect(client.say({})).rejects.toThrow("not yet");
    expect(seen.begun).toEqual(["0", "1", "0"]);
  });

  it("The messages of streams go to each attempt, and those of one response to the client", async () => {
    behave = (attempt) => (attempt === "1" ? answer(attempt) : hang());
    const client = clientWith({ maxAttempts: 2, hedgingDelay: "1ms" });
    async function* words() {
      yield { text: "a" };
      yield { text: "b" };
    }
    expect((await client.collect(words())).text).toBe("a b from 1");
    await expect.poll(() => seen.cancelled).toEqual(["0"]);
    seen.cancelled = [];
    const received: unknown[] = [];
    for await (const { text, number } of client.count({})) {
      received.push(text || number);
      // Not at the end of the stream only.
      await expect.poll(() => seen.cancelled).toEqual(["0"]);
    }
    expect(received).toEqual(["from 1", 2]);
  });

  it("A stream that is longer than what is kept goes to one attempt, whole and in order", async () => {
    behave = answer;
    async function* large() {
      for (let i = 0; i < 12; i++) yield { text: `${i}${"x".repeat(200_000)}` };
    }
    const { text, number } = await clientWith({}).collect(large());
    expect(number).toBe(12);
    expect(text.replaceAll("x", "")).toMatch(/^0 1 2 3 4 5 6 7 8 9 10 11 from \d$/);
  });

  it("The deadline ends all attempts, and so does a client that leaves", async () => {
    behave = hang;
    const client = clientWith({ nonFatalStatusCodes: ["DEADLINE_EXCEEDED", "CANCELLED"] });
    await expect(client.say({ text: "late" }, { timeout: "50ms" })).rejects.toMatchObject({
      statusName: "DEADLINE_EXCEEDED",
    });
    const leaving = new AbortController();
    const left = expect(client.say({ text: "left" }, { signal: leaving.signal })).rejects.toMatchObject({
      statusName: "CANCELLED",
    });
    const ofLeft = (list: readonly string[]) => list.filter((attempt) => attempt.startsWith("left")).toSorted();
    await expect.poll(() => ofLeft(seen.begun)).toEqual(["left0", "left1", "left2"]);
    leaving.abort();
    await left;
    await expect.poll(() => ofLeft(seen.cancelled)).toEqual(["left0", "left1", "left2"]);
  });

  it.each([
    [{ maxAttempts: 1 }, "'maxAttempts' in hedgingPolicy"],
    [{ hedgingDelay: "soon" }, "'hedgingDelay' in hedgingPolicy"],
    [{ nonFatalStatusCodes: ["OK"] }, "such as UNAVAILABLE"],
    [{ retryableStatusCodes: ["UNAVAILABLE"] }, "unknown option 'retryableStatusCodes' in hedgingPolicy"],
  ])("The policy %j is refused", (policy, message) => {
    expect(() => clientWith(policy as never)).toThrow(message);
  });

  it("A method is repeated or hedged, not both", () => {
    const backoff = { initialBackoff: "1s", maxBackoff: "1s", backoffMultiplier: 1 } as const;
    const retryPolicy = { ...backoff, maxAttempts: 2, retryableStatusCodes: ["UNAVAILABLE" as const] };
    const methodConfig = [{ name: [{}], retryPolicy, hedgingPolicy: { maxAttempts: 2 } }];
    expect(() => new GrpcChannel("localhost:1", { serviceConfig: { methodConfig } })).toThrow("either");
  });
});
