import { execFile } from "node:child_process";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { packageFolder } from "../../../src/kit/package-folder.js";
import { get, Program, patient, respondingWorkers, until } from "../process/program.js";
import { withoutNative } from "../support.js";

const native = { transport: "native" } as const;

describe.skipIf(withoutNative !== undefined)("processes on the native transport", patient, () => {
  it("A native server says so, serves, and ends on SIGTERM", async () => {
    const program = new Program({ options: native });
    const url = await program.url();
    expect((await get(url)).status).toBe(200);
    await program.shows(/Transport +native\n/);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stderr).toBe("");
  });

  it("Native workers share an address, and one that is killed is replaced", async () => {
    const program = new Program({ options: native, args: ["--workers", "2"] });
    const url = await program.url();
    const [victim] = await respondingWorkers(url, 2);
    process.kill(Number(victim), "SIGKILL");
    expect(await respondingWorkers(url, 2, [victim!])).toHaveLength(2);
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it("A native server without descriptors says so, closes connections, and serves afterwards", async () => {
    const program = new Program({ options: native, shell: 'ulimit -n 64; exec "$@"' });
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
    const { stdout } = await promisify(execFile)(process.execPath, [file, addon, "5"]);
    expect(stdout).toBe("0\n");
  });
});
