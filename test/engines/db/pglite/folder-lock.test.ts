import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { lockFolder } from "../../../../src/engines/db/pglite/folder-lock.js";

vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof import("node:fs/promises")>();
  return { ...real, statfs: vi.fn(real.statfs) };
});

it.runIf(process.platform === "linux")(
  "The lock of a folder that other machines may have warns that it holds on this one alone",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "stoa-lock-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    await (await lockFolder(folder)).release();
    expect(warned).not.toHaveBeenCalled();
    vi.mocked(statfs).mockResolvedValueOnce({ type: 0x6969 } as never);
    const first = await lockFolder(folder);
    const text = `nothing keeps a second machine from opening the embedded database in ${folder}: its file system is NFS`;
    expect(warned.mock.calls).toEqual([[text, { code: "STOA_NO_FOLDER_LOCK" }]]);
    // Here it holds as everywhere.
    const second = await lockFolder(folder);
    expect([first.holder, second.holder]).toEqual([null, expect.stringContaining(`process ${process.pid}`)]);
    await first.release();
  },
);
