import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { GrpcChannel } from "stoa/grpc";
import { describe, expect, it } from "vitest";
import { Program, patient } from "../../server/process/program.js";
import { Echo } from "./fixtures/echo_pb.js";
import { addEcho, serve } from "./support.js";

const fixture = (name: string) => fileURLToPath(new URL(`../../server/fixtures/${name}`, import.meta.url));

describe("processes and ports", patient, () => {
  it("All workers serve calls at one address", async () => {
    const program = new Program({ file: fileURLToPath(new URL("./fixtures/program.ts", import.meta.url)) });
    const [, target] = await program.shows(/gRPC at (\S+:\d+)/);
    await program.url();
    const pids = new Set<unknown>();
    for (let i = 0; i < 100 && pids.size < 2; i++) {
      const channel = new GrpcChannel(target!);
      pids.add((await channel.client("test.Process").unary("Id")).pid);
      await channel.close();
    }
    expect(pids.size).toBe(2);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it("The server and its codecs run where code cannot be made from text", async () => {
    const file = fileURLToPath(new URL("./fixtures/program.ts", import.meta.url));
    const program = new Program({ file, node: ["--disallow-code-generation-from-strings"], args: ["--workers", "1"] });
    const [, target] = await program.shows(/gRPC at (\S+:\d+)/);
    const channel = new GrpcChannel(target!);
    expect(await channel.client("test.Process").unary("Id")).toEqual({ pid: program.child.pid });
    await channel.close();
  });

  it("Calls are encrypted with a certificate of the server", async () => {
    const tls = { cert: fixture("cert.pem"), key: fixture("key.pem") };
    const running = await serve(addEcho, { tls });
    const port = running.target.split(":").at(-1);
    const ca = readFileSync(fixture("cert.pem"), "utf8");
    const channel = new GrpcChannel(`https://localhost:${port}`, { tls: { ca, servername: "localhost" } });
    expect((await channel.client(Echo).say({ text: "secret" })).text).toBe("secret");
    const suspicious = new GrpcChannel(`https://localhost:${port}`, { retries: 0 });
    await expect(suspicious.client(Echo).say({})).rejects.toMatchObject({ statusName: "UNAVAILABLE" });
    await Promise.all([channel.close(), suspicious.close()]);
    await running.close();
  });

  it("A channel shows its certificate to a server that asks for one", async () => {
    const clientCertificates = { ca: fixture("ca.pem") };
    const running = await serve(addEcho, {
      tls: { cert: fixture("cert.pem"), key: fixture("key.pem"), clientCertificates },
    });
    const target = `https://localhost:${running.target.split(":").at(-1)}`;
    const [ca, cert, key] = ["cert.pem", "client.pem", "client-key.pem"].map((name) =>
      readFileSync(fixture(name), "utf8"),
    );
    const known = new GrpcChannel(target, { tls: { ca: ca!, cert: cert!, key: key! } });
    expect((await known.client(Echo).say({ text: "secret" })).text).toBe("secret");
    const unknown = new GrpcChannel(target, { tls: { ca: ca! }, retries: 0 });
    await expect(unknown.client(Echo).say({})).rejects.toMatchObject({ statusName: "UNAVAILABLE" });
    await Promise.all([known.close(), unknown.close()]);
    await running.close();
  });

  it("An application that speaks HTTP/2 serves calls on its own port", async () => {
    const running = await serve(addEcho, {}, { http2: true });
    const channel = new GrpcChannel(running.url.replace(/\/$/, ""));
    expect((await channel.client(Echo).say({ text: "one port" })).text).toBe("one port");
    await channel.close();
    await running.close();
  });
});
