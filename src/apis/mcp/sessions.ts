import type { SessionStore } from "../../batteries/sessions/store.js";
import type { Request } from "../../http/request.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import type { McpLevel, Version } from "./protocol.js";

/** The state of a client between its requests. */
export interface SessionData {
  readonly version: Version;
  /** The capabilities of the client: sampling, elicitation, roots. */
  readonly can: readonly string[];
  /** The user who began it: a session id alone does not identify a user. */
  readonly user: string;
  /** A hash of the lists that the client has seen. */
  readonly lists: string;
  readonly level: McpLevel;
  /** The resources that it has subscribed to. */
  readonly uris: readonly string[];
}

export interface McpSession {
  readonly id: string;
  readonly data: SessionData;
}

/** Sessions of clients, in the store of the application's sessions: that of all workers, or of all machines. */
export class McpSessions {
  /** Changes of one session happen one after the other. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(
    private readonly store: SessionStore,
    private readonly secs: number,
  ) {}

  async begin(data: SessionData): Promise<string> {
    const id = nodeCrypto().randomBytes(24).toString("base64url");
    const now = seconds();
    await this.store.set(keyOf(id), { created: now, active: now, data: { ...data } }, this.secs);
    return id;
  }

  /** Null if there is none, or it is that of another user. */
  async find(id: string, user: string): Promise<McpSession | null> {
    const stored = id.length > 100 ? null : await this.store.get(keyOf(id));
    const data = stored?.data as unknown as SessionData | undefined;
    if (!stored || data?.user !== user) return null;
    const now = seconds();
    if (now - stored.active > this.secs / 4) await this.store.touch(keyOf(id), { ...stored, active: now }, this.secs);
    return { id, data };
  }

  change({ id, data: { user } }: McpSession, change: (data: SessionData) => Partial<SessionData>): Promise<void> {
    const work = (this.#changes.get(id) ?? Promise.resolve()).then(async () => {
      const stored = await this.store.get(keyOf(id));
      const data = stored?.data as unknown as SessionData | undefined;
      if (!stored || data?.user !== user) return;
      const now = seconds();
      await this.store.touch(keyOf(id), { ...stored, active: now, data: { ...data, ...change(data) } }, this.secs);
    });
    const settled = work
      .catch(() => {})
      .then(() => {
        if (this.#changes.get(id) === settled) this.#changes.delete(id);
      });
    this.#changes.set(id, settled);
    return work;
  }

  async end({ id }: McpSession): Promise<void> {
    await this.store.destroy(keyOf(id));
  }
}

/** The user that authentication has found; empty if there is none. */
export function userOf(request: Request): string {
  if (!request.hasContext) return "";
  const { user, api_key_name: key, jwt_claims: claims } = request.context;
  const { iss, sub } = (claims ?? {}) as { iss?: unknown; sub?: unknown };
  const parts = [user, key, iss, sub];
  return parts.every((part) => part === undefined) ? "" : hash(JSON.stringify(parts));
}

/** A reader of the store cannot take over a session. */
export function keyOf(id: string): string {
  return `mcp:${hash(id)}`;
}

export function hash(text: string): string {
  return nodeCrypto().createHash("sha256").update(text).digest("base64url");
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
