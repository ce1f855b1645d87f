import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decodeBody } from "../../src/http/body/decode-body.js";
import { nodeZlib } from "../../src/kit/node-modules.js";

describe("the number of bodies that are decoded at once", () => {
  it("No more than four bodies are decoded into memory at once, even if others come in the moment when one ends", async () => {
    const zlib = nodeZlib();
    const { createGunzip } = zlib;
    const body = gzipSync(Buffer.alloc(200_000, "a"));
    const rules = { encodings: ["gzip"], maxRatio: 1_000_000 } as never;
    let open = 0;
    let most = 0;
    const started: Promise<Uint8Array>[] = [];
    const decode = (): void => void started.push(decodeBody(body, "gzip", rules, 1_000_000));
    /** Starts one more body in each of the next turns of the queue of microtasks. */
    const startMore = async (): Promise<void> => {
      for (let turn = 0; turn < 12; turn++) {
        await null;
        decode();
      }
    };
    const replace = (value: typeof createGunzip): void =>
      void Object.defineProperty(zlib, "createGunzip", { configurable: true, enumerable: true, writable: true, value });
    try {
      replace((options) => {
        most = Math.max(most, ++open);
        const engine = createGunzip(options);
        const { destroy } = engine;
        // Called when a body has been decoded.
        engine.destroy = (error) => {
          if (!engine.destroyed) open--;
          if (started.length < 100) void startMore();
          return destroy.call(engine, error);
        };
        return engine;
      });
      for (let i = 0; i < 8; i++) decode();
      for (let i = 0; i < started.length; i++) expect((await started[i]!).length).toBe(200_000);
    } finally {
      replace(createGunzip);
    }
    expect(started.length).toBeGreaterThan(50);
    expect(most).toBe(4);
  });
});
