import { statfs } from "node:fs/promises";
import { run } from "../process.mjs";
import { eventually } from "./wait.mjs";

const size = "4g";

/**
 * Makes a folder a file system in memory that can be full: its size becomes what is used, so filling it takes no memory. Resolves
 * to null where mounting is not allowed.
 */
export async function mountDisk(folder) {
  const mount = async (options, ...more) => (await run("mount", ["-o", options, ...more, folder])).code === 0;
  if (!(await mount(`size=${size}`, "-t", "tmpfs", "tmpfs"))) return null;
  return {
    async fill() {
      // It is refused if more was written meanwhile.
      const shrink = async () => {
        const { blocks, bfree, bsize } = await statfs(folder);
        return mount(`remount,size=${(blocks - bfree) * bsize}`);
      };
      if (!(await eventually(shrink, 10_000, 5))) throw new Error(`${folder} could not be filled`);
    },
    async free() {
      if (!(await mount(`remount,size=${size}`))) throw new Error(`${folder} could not be emptied`);
    },
    /** Also while files of it are open. */
    unmount: () => run("umount", ["--lazy", folder]),
  };
}
