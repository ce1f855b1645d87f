import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { Program, patient, until } from "./program.js";

const fixture = (name: string): string => new URL(`../fixtures/${name}`, import.meta.url).pathname;

/** Asks for the process that serves, and keeps the last session that the server offers. */
async function ask(
  url: string,
  options: ConnectionOptions = {},
): Promise<{ resumed: boolean; pid: string; session: Buffer | undefined }> {
  const { port } = new URL(url);
  const socket = connect({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false, ...options });
  onTestFinished(() => void socket.destroy());
  let session: Buffer | undefined;
  socket.on("session", (given: Buffer) => (session = given));
  await once(socket, "secureConnect");
  const resumed = socket.isSessionReused();
  socket.write("GET /pid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const piece of socket.setEncoding("utf8")) text += piece;
  return { resumed, pid: text.slice(text.indexOf("\r\n\r\n") + 4), session };
}

describe("TLS in several processes", patient, () => {
  it("A client can resume its TLS session with any worker", async () => {
    const tls = { cert: fixture("cert.pem"), key: fixture("key.pem") };
    const program = new Program({ args: ["--workers", "2"], options: { tls } });
    const url = await program.url();
    // The workers get their keys right after the start.
    await until(async () => {
      const first = await ask(url);
      const second = await ask(url, first.session && { session: first.session });
      return second.resumed && first.pid !== second.pid;
    });
  });

  it.each([1, 2])("Certificates are read again after SIGHUP, with %d workers", async (workers) => {
    const folder = mkdtempSync(join(tmpdir(), "stoa-tls-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem"), watch: false };
    copyFileSync(fixture("cert.pem"), tls.cert);
    copyFileSync(fixture("key.pem"), tls.key);
    const program = new Program({ args: ["--workers", String(workers)], options: { tls } });
    const url = await program.url();
    copyFileSync(fixture("hosts.pem"), tls.cert);
    copyFileSync(fixture("hosts-key.pem"), tls.key);
    program.child.kill("SIGHUP");
    await program.shows(/the certificates were read again/, workers);
    const { port } = new URL(url);
    const names = new Set<unknown>();
    for (let i = 0; i < 4; i++) {
      const socket = connect({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false });
      await once(socket, "secureConnect");
      names.add(socket.getPeerCertificate().subject.CN);
      socket.destroy();
    }
    expect([...names]).toEqual(["a.example"]);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });
});
