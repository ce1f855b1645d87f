import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { root, runNode } from "../../scripts/process.mjs";
import { ensureInstalled, isInstalled } from "../../scripts/setup.mjs";

/** Builds a revision in a folder and resolves to its short name. The repository is only read. */
export async function buildRevision(revision, folder) {
  const commit = git("rev-parse", "--verify", "--quiet", `${revision}^{commit}`);
  if (!commit) throw new Error(`--compare: git knows no revision "${revision}"`);
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 1 << 30 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  if (!isInstalled(folder)) {
    execFileSync("rm", [join(folder, "node_modules")]);
    await ensureInstalled(folder);
  }
  const { code, output } = await runNode(join(folder, "scripts/build.mjs"), [], { cwd: folder });
  if (code !== 0 || !existsSync(join(folder, "dist"))) throw new Error(`${revision} does not build\n${output}`);
  return commit.slice(0, 10);
}

export function currentRevision() {
  const commit = git("rev-parse", "--short=10", "HEAD");
  return commit && `${commit}${git("status", "--porcelain") ? " with changes" : ""}`;
}

function git(...args) {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}
