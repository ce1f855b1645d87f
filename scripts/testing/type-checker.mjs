#!/usr/bin/env node
/**
 * The compiler for the types of all files, with one thread: others would each work out the types of models again. It looks for
 * garbage only when it has more than half as much again as what it needs in the end.
 */
import { bin, runNode } from "../process.mjs";

const env = { ...process.env, GOGC: "off", GOMEMLIMIT: "3GiB" };
const { code } = await runNode(bin.tsc, ["--singleThreaded", ...process.argv.slice(2)], { env, inherit: true });
process.exitCode = code;
