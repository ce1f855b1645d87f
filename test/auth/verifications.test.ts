import { App, BasicAuth } from "stoa";
import { describe, expect, it, vi } from "vitest";
import { Verifications } from "../../src/auth/verifications.js";
import type { Request } from "../../src/http/request.js";
import { fakeRequest } from "../http/fake-source.js";

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

  it("The log gets one warning without a stack for a flood of requests that are refused because too many wait", async () => {
    let end = (): void => {};
    const held = new Promise<void>((resolve) => {
      end = resolve;
    });
    const lines: Error[] = [];
    const app = new App();
    app.logger = { ...app.logger, warn: (_text, fields) => void lines.push(fields?.["error"] as Error) };
    app.use(new BasicAuth({ verifyFunction: () => held.then(() => true), maxVerifications: 1 }));
    app.get("/", () => "in");
    const ask = () => app.request("/", { headers: { authorization } });
    const waiting = Array.from({ length: 51 }, ask);
    for (let i = 0; i < 20; i++) expect((await ask()).status).toBe(503);
    end();
    await Promise.all(waiting);
    expect(lines).toHaveLength(1);
    expect(lines[0]!.stack).not.toContain("    at ");
  });

  it("The password of a client that left while it waited is not verified", async () => {
    const verifications = new Verifications(1);
    let end = (): void => {};
    const first = verifications.run(requestOf(), () => new Promise<void>((resolve) => void (end = resolve)));
    const gone = requestOf();
    let verified = 0;
    const second = verifications.run(gone, () => ++verified);
    const third = verifications.run(requestOf(), () => "in");
    gone.abort(new Error("left"));
    end();
    await first;
    await expect(second).rejects.toThrow("left");
    expect(await third).toBe("in");
    expect(verified).toBe(0);
    expect(verifications.run(requestOf(), () => "again")).toBe("again");
  });

  it("A verification that never ends gives its place back after a minute", async () => {
    vi.useFakeTimers();
    try {
      const verifications = new Verifications(1);
      void verifications.run(requestOf(), () => new Promise(() => {}));
      const next = verifications.run(requestOf(), () => "in");
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await next).toBe("in");
    } finally {
      vi.useRealTimers();
    }
  });

  it("A verification that ends after it has given its place back gives no second place", async () => {
    vi.useFakeTimers();
    try {
      const verifications = new Verifications(1);
      let end = (): void => {};
      const late = verifications.run(requestOf(), () => new Promise<void>((resolve) => (end = resolve)));
      await vi.advanceTimersByTimeAsync(60_000);
      let running = 0;
      const hang = (): Promise<never> => {
        running++;
        return new Promise(() => {});
      };
      void verifications.run(requestOf(), hang);
      end();
      await late;
      void verifications.run(requestOf(), hang);
      await vi.advanceTimersByTimeAsync(0);
      expect(running).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });
});

const requestOf = (): Request => fakeRequest("GET");
