import { App, BasicAuth } from "stoa";
import { describe, expect, it } from "vitest";

const authorization = `Basic ${Buffer.from("ada:secret").toString("base64")}`;

describe("the verifications of passwords that run at once", () => {
  it("No more verifications of passwords than allowed run at once, and the others wait for their turn", async () => {
    const ends: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const app = new App();
    const verifyFunction = async (): Promise<boolean> => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running--;
      return true;
    };
    app.use(new BasicAuth({ verifyFunction, maxVerifications: 2 }));
    app.get("/", () => "in");
    const replies = Array.from({ length: 20 }, () => app.request("/", { headers: { authorization } }));
    const all = Promise.all(replies.map(async (reply) => (await reply).status));
    let isOver = false;
    void all.then(() => {
      isOver = true;
    });
    while (!isOver) {
      for (const end of ends.splice(0)) end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await all).toEqual(Array(20).fill(200));
    expect(most).toBe(2);
  });

  it("Requests are refused with 503 and Retry-After if too many wait for a verification, and served again afterwards", async () => {
    let end = (): void => {};
    const held = new Promise<void>((resolve) => {
      end = resolve;
    });
    const app = new App();
    app.use(new BasicAuth({ verifyFunction: () => held.then(() => true), maxVerifications: 1 }));
    app.get("/", () => "in");
    const ask = () => app.request("/", { headers: { authorization } });
    const waiting = Array.from({ length: 51 }, ask);
    const refused = await ask();
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([503, "1"]);
    end();
    expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBe(true);
    expect((await ask()).status).toBe(200);
  });

  it("A verification that throws or rejects gives its place back", async () => {
    const app = new App();
    app.logger = { ...app.logger, error() {} };
    const faults = [
      () => {
        throw new Error("at once");
      },
      () => Promise.reject(new Error("later")),
      () => false,
      () => true,
    ];
    app.use(new BasicAuth({ verifyFunction: () => (faults.shift() ?? (() => true))(), maxVerifications: 1 }));
    app.get("/", () => "in");
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push((await app.request("/", { headers: { authorization } })).status);
    expect(statuses).toEqual([500, 500, 401, 200, 200]);
  });
});
