/** A function that runs tasks one after the other: each begins when those before it have ended, however they did. */
export function inTurn() {
  let last = Promise.resolve();
  return (task) => {
    last = last.then(task, task);
    return last;
  };
}
