/** Why a request is aborted whose client is gone. */
export function clientLeft(): Error {
  return new Error("the client has left");
}
