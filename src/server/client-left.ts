/** The reason with which a request is aborted whose client has disconnected. */
export function clientLeft(): Error {
  return new Error("the client has left");
}
