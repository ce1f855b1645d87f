import { silentTopic, workerChannel } from "./worker-channel.js";

let silent: readonly number[] = [];
let listening = false;

/** The ids of the other workers of this server that do not respond, as the supervisor last told. */
export function silentWorkers(): readonly number[] {
  return silent;
}

/** Listens to the supervisor. Called once at start by code that uses `silentWorkers`. */
export function listenForSilentWorkers(): void {
  if (listening) return;
  listening = true;
  workerChannel.subscribe(silentTopic, (data) => {
    if (Array.isArray(data)) silent = data.filter((pid) => Number.isInteger(pid));
  });
}
