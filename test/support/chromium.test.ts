import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { service } from "./service.js";

const chromium = service("chromium");

describe.skipIf(!chromium)("the browser for browser tests", () => {
  const page = "<p id=p></p><script>p.textContent = [1, 2].map((n) => n * 21)</script>";
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(page));
  let profile: string;
  beforeEach(async () => {
    profile = await mkdtemp(join(tmpdir(), "stoa-chromium-"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(async () => {
    server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  });

  it("The browser loads a page from loopback and runs its script", async () => {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
    const { stdout } = await promisify(execFile)(chromium as string, [
      ...flags,
      `--user-data-dir=${profile}`,
      "--dump-dom",
      address,
    ]);
    expect(stdout).toContain('<p id="p">21,42</p>');
  });
});
