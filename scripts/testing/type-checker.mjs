#!/usr/bin/env node
/** The compiler for the types of all files, with one thread: others would each work out the types of models again. */
import { bin, runNode } from "../process.mjs";

const { code } = await runNode(bin.tsc, ["--singleThreaded", ...process.argv.slice(2)], { inherit: true });
process.exitCode = code;
