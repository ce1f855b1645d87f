/**
 * A machine that is busy with something else can make a sound test fail. Test files that failed run once more, alone. A
 * test that passes then counts as passed, and is listed loudly: it must be made steady. More than a few failures, or an
 * error outside of any test, are not the machine's fault: then nothing is run again.
 */

const mostFiles = 5;

/**
 * @typedef {{ fullName: string, status: string }} Test
 * @typedef {{ name: string, status: string, assertionResults: Test[] }} FileResult
 * @typedef {{ code: number, results: { testResults: FileResult[] } }} Run
 */

/**
 * @param {Run} first
 * @param {(files: string[]) => Promise<Run>} runAgain
 * @returns {Promise<{ results: Run["results"], outside: boolean }>} The results to count; `outside` when something else than a test failed.
 */
export async function steadied(first, runAgain, log = console.log) {
  const failed = first.results.testResults.filter(isFailed);
  if (first.code !== 0 && failed.length === 0) return { results: first.results, outside: true };
  if (failed.length === 0 || failed.length > mostFiles) return { results: first.results, outside: false };
  log(`\nrunning ${failed.length} failed ${failed.length === 1 ? "file" : "files"} once more, alone`);
  const second = await runAgain(failed.map(({ name }) => name));
  const again = new Map(second.results.testResults.map((file) => [file.name, file]));
  const outside = second.code !== 0 && !second.results.testResults.some(isFailed);
  for (const file of failed) {
    const other = again.get(file.name);
    if (!other || isFailed(other)) continue;
    const names = file.assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName);
    log(`UNSTEADY  ${file.name}: ${names.join("; ") || "could not be loaded"}`);
  }
  const testResults = first.results.testResults.map((file) => again.get(file.name) ?? file);
  return { results: { testResults }, outside };
}

function isFailed(/** @type {FileResult} */ { status }) {
  return status === "failed";
}
