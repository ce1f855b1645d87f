import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import { sendFile } from "../../../src/http/files/send-file.js";
import { Response } from "../../../src/http/response.js";
import type { Wire } from "../../../src/server/native/wire.js";
import { get, onEachEngine, start } from "../support.js";

// More than the system holds for a client that does not read.
const content = randomBytes(32_000_000);
// On a disk: what is in memory alone, as /tmp may be, is read.
const folder = mkdtempSync(join(existsSync("/var/tmp") ? "/var/tmp" : tmpdir(), "stoa-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

onEachEngine("files on the native transport with %s", (factory, engine, opened) => {
  /** A server of one file, and a client that asks for it and does not read yet. */
  async function ask(name: string, bytes: string) {
    const path = join(folder, `${engine}-${name}`);
    writeFileSync(path, content);
    const file = vi.spyOn((opened as Wire).addon, "file");
    onTestFinished(() => file.mockRestore());
    const server = await start(factory, (request) =>
      request.path === "/small" ? Response.text("small") : sendFile(request, Response.file(path)),
    );
    const client = await server.client();
    client.socket.pause();
    client.send(bytes);
    const results = () => file.mock.results.map(({ value }) => value as number);
    // The system takes no more.
    await expect.poll(() => results().at(-1), { timeout: 30_000 }).toBe(0);
    return { path, client, server, passedOn: () => results().reduce((sum, sent) => sum + sent, 0) };
  }

  it("A file is sent byte for byte, partly without being read, and the next response follows it", async () => {
    const { client, passedOn } = await ask("whole", get("/", "Range: bytes=1000-\r\n") + get("/small"));
    client.socket.resume();
    const text = await client.until((all) => all.length > content.length - 1000 && all.endsWith("small"));
    const body = Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "latin1");
    expect(body.subarray(0, content.length - 1000).equals(content.subarray(1000))).toBe(true);
    expect(body.toString("latin1", content.length - 1000)).toMatch(/^HTTP\/1\.1 200 .*small$/s);
    expect(passedOn()).toBeGreaterThan(0);
  });

  it("A file that becomes shorter while it is sent ends the connection, and no other byte is sent", async () => {
    const { client, path, server } = await ask("shorter", get("/") + get("/small"));
    truncateSync(path, 20_000_000);
    client.socket.resume();
    const text = await client.readToEnd();
    const body = Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "latin1");
    expect(text).toContain(`Content-Length: ${content.length}\r\n`);
    expect(body.equals(content.subarray(0, 20_000_000))).toBe(true);
    expect(server.errors.map(String)).toEqual([expect.stringContaining("became shorter")]);
  });

  it("The file is closed when its client leaves", async () => {
    const { client, path } = await ask("left", get("/"));
    expect(descriptorsOf(path)).toBe(1);
    client.socket.resetAndDestroy();
    await expect.poll(() => descriptorsOf(path)).toBe(0);
  });
});

function descriptorsOf(path: string): number {
  const isOpen = (name: string): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`) === path;
    } catch {
      return false;
    }
  };
  return readdirSync("/proc/self/fd").filter(isOpen).length;
}
