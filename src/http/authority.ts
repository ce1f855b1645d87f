import { UnauthorizedError } from "../errors/http-error.js";

/** A session or a token with which a request was accepted. It can end before the request does. */
export interface Authority {
  /** Calls `end` once if the authority ends, in this or another process. The function that is returned ends the watch. */
  watch(end: () => void): () => void;
}

/** The reason for which a WebSocket or a stream is aborted: the session or token of its client has ended. */
export class AuthorityEndedError extends UnauthorizedError {
  constructor() {
    super("The session or token has ended.");
  }
}
