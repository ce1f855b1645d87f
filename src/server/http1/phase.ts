/**
 * The phase of a connection. It is in exactly one at a time:
 *
 *     FRESH ──┐                        ┌─────────────── SKIPPING
 *             ├─> HEAD ──> REQUEST ────┤                    │
 *     IDLE ───┘              │         └─> IDLE or BEHIND <─┘
 *                            └─> UPGRADING ─> CLOSED
 *
 * From every phase a connection can go to LINGERING (an orderly end) and to CLOSED (the socket is closed).
 * test/server/http1/connection.test.ts checks the invariants of each phase after every event.
 */
export type Phase = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** Open, and no byte of a request has arrived. The time for the first head runs from here. */
export const FRESH = 0;
/** Between two requests. */
export const IDLE = 1;
/** The beginning of a head is held. */
export const HEAD = 2;
/** A request waits for its response. Its body may still arrive; bytes behind it are held. */
export const REQUEST = 3;
/** The response has been given, and the rest of the request's body is read and dropped. */
export const SKIPPING = 4;
/** Every response has been given, but the client has not taken them: bytes are held until it has. */
export const BEHIND = 5;
/** The response hands the socket to another protocol, once the bytes behind the request have been put aside. */
export const UPGRADING = 6;
/** The last response has been given. Bytes that still arrive are dropped, so that the client reads it before a reset. */
export const LINGERING = 7;
/** The socket is closed, or belongs to another protocol. */
export const CLOSED = 8;

/** The parts of a connection that its phase makes a promise about; for tests. */
export interface ConnectionState {
  readonly phase: Phase;
  /** A request waits for its response. */
  readonly request: boolean;
  /** A body is still arriving. */
  readonly body: boolean;
  /** Bytes that are held. */
  readonly held: number;
  readonly behind: boolean;
  readonly paused: boolean;
  readonly ended: boolean;
}
