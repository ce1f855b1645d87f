/** The reason for aborting a request whose client has disconnected. */
export function clientLeft(): Error {
  return new Error("the client has left");
}
