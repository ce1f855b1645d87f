/** Not in feature.ts: the bundler puts what is loaded there into the file of the batteries, which most applications load. */
export async function loadRooms(): Promise<typeof import("./start-rooms.js")> {
  return import("./start-rooms.js");
}
