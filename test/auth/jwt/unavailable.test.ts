import { App, Authenticated, JwtAuth, type Logger } from "stoa";
import { describe, expect, it } from "vitest";
import { quiet } from "../../patterns/events/stores.js";
import { unhandledIn } from "../../support/unhandled.js";

const secret = "s".repeat(32);

describe("a store of revoked tokens that is away", () => {
  it("Requests with a token get 503 while the store of revoked tokens is away, and the log one line with the reason", async () => {
    const lines: { text: string; cause: unknown }[] = [];
    const write = (text: string, fields?: Readonly<Record<string, unknown>>): void => {
      if (text.includes("503")) lines.push({ text, cause: (fields?.["error"] as Error | undefined)?.cause });
    };
    const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
    const reason = new Error("the store is away");
    const jwt = new JwtAuth({
      secret,
      revocations: { has: () => Promise.reject(reason), add: () => Promise.reject(reason) },
    });
    const app = new App().use(jwt);
    app.logger = logger;
    app.get("/", { guards: [Authenticated()] }, () => "in");
    const headers = { Authorization: `Bearer ${jwt.createToken({ sub: "ada" })}` };
    for (let i = 0; i < 20; i++) expect((await app.request("/", { headers })).status).toBe(503);
    expect(lines).toEqual([{ text: "GET / failed with 503", cause: reason }]);
  });

  it("A store that rejects one question and throws at the next leaves no rejection behind", async () => {
    let asked = 0;
    const has = (): Promise<boolean> => {
      if (++asked % 2 === 0) throw new Error("away");
      return Promise.reject(new Error("away"));
    };
    const jwt = new JwtAuth({ secret, revocations: { has, add: () => true } });
    const app = new App().use(jwt);
    app.logger = quiet;
    app.get("/", { guards: [Authenticated()] }, () => "in");
    const token = jwt.createToken({ token_family: "f" });
    const reasons = await unhandledIn(async () => {
      const { status } = await app.request("/", { headers: { Authorization: `Bearer ${token}` } });
      expect(status).toBe(503);
    });
    expect([asked, reasons]).toEqual([2, []]);
  });
});
