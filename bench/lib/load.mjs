import { readdir } from "node:fs/promises";

/** The default exports of every file of a folder beside this one, in the order of their names. */
export async function loadAll(folder) {
  const base = baseOf(folder);
  return Promise.all((await filesOf(base)).map((name) => load(base, name)));
}

/** One workload by its key, as one of its variants; the other files are not opened, which would show in the start-up. */
export async function loadWorkload(key, variant) {
  const base = baseOf("workloads");
  const workload = await load(
    base,
    (await filesOf(base)).find((name) => name.startsWith(`${key}-`)),
  );
  return variant === undefined ? workload : { ...workload, ...workload.variants[variant] };
}

const baseOf = (folder) => new URL(`../${folder}/`, import.meta.url);
const filesOf = async (base) => (await readdir(base)).filter((name) => name.endsWith(".mjs")).sort();
const load = async (base, name) => (await import(new URL(name, base).href)).default;
