import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { packageFolder } from "../../../src/kit/package-folder.js";
import { get, Program, patient, respondingWorkers, until } from "../process/program.js";
import { onEachEngine, withoutNative } from "../support.js";

onEachEngine(
  "processes on the native transport with %s",
  (_factory, engine) => {
    const native = { options: { transport: "native" }, env: { STOA_NATIVE: engine } } as const;

    it("A native server says so, serves, and ends on SIGTERM", async () => {
      const program = new Program(native);
      const url = await program.url();
      expect((await get(url)).status).toBe(200);
      await program.shows(new RegExp(`Transport +native \\(${engine}\\)\n`));
      program.child.kill("SIGTERM");
      expect(await program.exited).toEqual({ code: 0, signal: null });
      expect(program.stderr).toBe("");
    });

    it("Native workers share an address, and one that is killed is replaced", async () => {
      const program = new Program({ ...native, args: ["--workers", "2"] });
      const url = await program.url();
      const [victim] = await respondingWorkers(url, 2);
      process.kill(Number(victim), "SIGKILL");
      expect(await respondingWorkers(url, 2, [victim!])).toHaveLength(2);
      program.child.kill("SIGTERM");
      expect(await program.exited).toEqual({ code: 0, signal: null });
    });

    it("A native server without descriptors says so, closes connections, and serves afterwards", async () => {
      const program = new Program({ ...native, shell: 'ulimit -n 64; exec "$@"' });
      const url = await program.url();
      const { hostname, port } = new URL(url);
      const sockets = Array.from({ length: 120 }, () =>
        connect(Number(port), hostname)
          .on("error", () => {})
          .resume(),
      );
      await until(() => sockets.every((socket) => !socket.connecting));
      await until(() => sockets.some((socket) => socket.closed));
      await until(
        () => (program.stdout + program.stderr).includes("EMFILE"),
        () => program.report(),
      );
      for (const socket of sockets) socket.destroy();
      const served = (): Promise<boolean> =>
        get(url).then(
          ({ status }) => status === 200,
          () => false,
        );
      await until(served);
      program.child.kill("SIGTERM");
      expect(await program.exited).toEqual({ code: 0, signal: null });
    });

    it("A thread that ends in the middle of its connections leaves no descriptor open", async () => {
      const file = fileURLToPath(new URL("./fixtures/thread.mjs", import.meta.url));
      const addon = join(packageFolder(), `native/build/wire-${process.platform}-${process.arch}.node`);
      const { stdout } = await promisify(execFile)(process.execPath, [file, addon, engine, "5"]);
      expect(stdout).toBe("0\n");
    });
  },
  patient,
);

describe.skipIf(withoutNative !== undefined)("a container that refuses io_uring", patient, () => {
  /** As the filters of containers do. */
  function refusing(): string {
    const folder = mkdtempSync(join(tmpdir(), "stoa-native-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const source = fileURLToPath(new URL("./fixtures/refuse-uring.c", import.meta.url));
    execFileSync(process.env["CC"] || "cc", [source, "-o", join(folder, "refuse")]);
    return `exec "${folder}/refuse" "$@"`;
  }

  it("A native server without io_uring runs on epoll, and says nothing of it", async () => {
    const program = new Program({ options: { transport: "native" }, shell: refusing() });
    expect((await get(await program.url())).status).toBe(200);
    await program.shows(/Transport +native \(epoll\)\n/);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stderr).toBe("");
  });

  it("A server that must have io_uring does not start without it, and says why", async () => {
    const env = { STOA_NATIVE: "io_uring" };
    const program = new Program({ options: { transport: "native" }, env, shell: refusing() });
    expect(await program.exited).toMatchObject({ code: 1 });
    expect(program.stderr).toContain('transport "native" cannot be used: the system refuses io_uring: EPERM;');
  });
});
