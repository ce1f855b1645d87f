import { unavailable } from "../../errors/paced.js";
import { toJson } from "../../http/json/to-json.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import type { Logger } from "../../kit/logger.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { show } from "../../kit/options.js";
import { backoff } from "../../kit/time/backoff.js";
import { Pace } from "../../kit/time/pace.js";
import { sleep } from "../../kit/time/within.js";
import { ValueError } from "../../kit/value-error.js";
import type { WebSocket } from "../../websocket/socket.js";
import type { RoomClient } from "./client.js";
import {
  type Entering,
  type JoinOptions,
  readEventId,
  readJoinOptions,
  readSendOptions,
  readStreamOptions,
  readSubscribeOptions,
  type StreamOptions,
  type SubscribeOptions,
} from "./join-options.js";
import { LocalRoom } from "./local-room.js";
import { messageText, readMessageText } from "./message-text.js";
import { checkedName, type RoomsSettings } from "./options.js";
import type { Room, RoomMembers, RoomMessage } from "./room.js";
import { SocketClient, SocketOutput } from "./socket-client.js";
import type { RoomStore, StoredMessage } from "./store.js";
import { StreamClient, Subscription } from "./stream-client.js";

interface Joined {
  readonly output: SocketOutput;
  readonly rooms: Map<string, Entry>;
}

/** A client in a room. */
interface Entry {
  readonly id: string;
  readonly leave: () => void;
}

/** The rooms of an application. */
export class Rooms {
  readonly #settings: RoomsSettings;
  readonly #store: RoomStore;
  readonly #logger: Logger;
  readonly #local = new Map<string, LocalRoom>();
  readonly #sockets = new WeakMap<WebSocket<object>, Joined>();
  readonly #streams = new Set<{ end(): void }>();
  readonly #paces = { send: new Pace(), join: new Pace(), stream: new Pace(), store: new Pace() };
  #isDraining = false;

  constructor(settings: RoomsSettings, store: RoomStore, logger: Logger) {
    const { history, historySecs, maxRooms } = settings;
    this.#settings = settings;
    this.#store = store;
    this.#logger = logger;
    // Stores of applications may return promises where none is expected.
    const opened: unknown = store.open(
      { history, keepMs: historySecs * 1000, maxRooms },
      {
        message: (room, message) => this.#local.get(room)?.hear(message),
        gap: (room) => void this.#local.get(room)?.catchUp(),
        changed: (room, change, member) => this.#local.get(room)?.changed(change, member),
      },
    );
    this.#tell(() => opened);
  }

  room<Data>(given: string): Room<Data> {
    const name = checkedName(given);
    return {
      name,
      subscribe: (options) => this.#subscribe(name, options),
      send: (value, options) => {
        const { except } = readSendOptions("send()", options);
        // One that is not in the room would not get it anyway.
        const id = except && this.#sockets.get(except)?.rooms.get(name)?.id;
        return this.#noted(this.#send(name, value, id), "send", "a message to a room was not sent");
      },
      members: () => this.members(name),
      history: (after) => this.#history<Data>(name, after),
    };
  }

  /** Puts a WebSocket into a room until it is closed. */
  join(socket: WebSocket<object>, given: string, options?: JoinOptions): Promise<void> {
    const name = checkedName(given);
    const { envelope, ...entering } = readJoinOptions(options);
    const { maxJoined } = this.#settings;
    let joined = this.#sockets.get(socket);
    if (joined === undefined) {
      joined = { output: new SocketOutput(socket, this.#settings), rooms: new Map() };
      this.#sockets.set(socket, joined);
      const { rooms } = joined;
      // Before the client has confirmed the close, which one whose session has ended need not do.
      socket.request.onAbort(() => {
        for (const entry of rooms.values()) entry.leave();
      });
    }
    if (joined.rooms.has(name) || !socket.isOpen) return Promise.resolve();
    if (joined.rooms.size >= maxJoined) throw new ValueError(`a WebSocket can be in ${maxJoined} rooms at most`);
    const entry = this.#enter(name, new SocketClient(joined.output, name, envelope), entering);
    const { rooms } = joined;
    rooms.set(name, entry);
    entry.entered.catch(() => {
      if (rooms.get(name) === entry) rooms.delete(name);
    });
    return this.#noted(entry.entered, "join", "a WebSocket could not join a room");
  }

  leave(socket: WebSocket<object>, given: string): void {
    const joined = this.#sockets.get(socket);
    joined?.rooms.get(given)?.leave();
    joined?.rooms.delete(given);
  }

  /** The messages of a room as server-sent events. */
  stream(request: Request, given: string, options?: StreamOptions): Response {
    const name = checkedName(given);
    const { heartbeat, retry, ...settings } = readStreamOptions(options);
    const after = readEventId(request.source.header("last-event-id")) ?? settings.after;
    const source = (): StreamClient => {
      let leave = (): void => {};
      const client = new StreamClient(this.#settings, () => {
        this.#streams.delete(client);
        leave();
      });
      this.#streams.add(client);
      const entering = this.#enter(name, client, { ...settings, after });
      leave = entering.leave;
      const failure = "an event stream could not join a room";
      this.#noted(entering.entered, "stream", failure).catch(() => client.end());
      // The body learns with its next write that the client has disconnected; the others in the room should know now.
      request.onAbort(() => client.end());
      if (this.#isDraining) client.end();
      return client;
    };
    return Response.sse(source, {
      ...(heartbeat !== undefined && { heartbeat }),
      ...(retry !== undefined && { retry }),
    });
  }

  #subscribe<Data>(name: string, given?: SubscribeOptions<Data>): Subscription<Data> {
    const { filter, signal, after } = readSubscribeOptions("subscribe()", given) as SubscribeOptions<Data>;
    return this.#subscription(name, this.#settings, filter, signal, after).client;
  }

  /**
   * Passes the messages of a room to another feature until the signal is aborted, also after an outage of the store. `lost` says
   * what was lost then; `info` is what `members()` shows of it.
   */
  async listen<Data>(
    name: string,
    hear: (data: Data) => void,
    signal: AbortSignal,
    lost: string,
    info?: object,
  ): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        for await (const data of await this.hear<Data>(name, signal, Number.POSITIVE_INFINITY, info)) {
          failures = 0;
          hear(data);
        }
        return;
      } catch (error) {
        this.#logger.warn(lost, { error });
        await sleep(backoff(failures, 100, 10_000), signal);
      }
    }
  }

  /** Subscribes for another feature, which has its own limits. Resolves when no message is missed any more. */
  async hear<Data>(
    name: string,
    signal: AbortSignal,
    maxBuffered: number,
    info: object | null = null,
  ): Promise<AsyncIterable<Data>> {
    const limits = { ...this.#settings, maxBuffered };
    const { client, entered } = this.#subscription<Data>(name, limits, undefined, signal, undefined, info);
    // The subscription has the error.
    await entered.catch(() => {});
    return client;
  }

  #subscription<Data>(
    name: string,
    limits: RoomsSettings,
    filter: SubscribeOptions<Data>["filter"],
    signal: AbortSignal | undefined,
    after: string | undefined,
    info: object | null = null,
  ): { readonly client: Subscription<Data>; readonly entered: Promise<void> } {
    let leave = (): void => {};
    const end = (): void => client.end();
    const client = new Subscription<Data>(limits, filter, () => {
      this.#streams.delete(client);
      signal?.removeEventListener("abort", end);
      leave();
    });
    if (signal?.aborted || this.#isDraining) {
      end();
      return { client, entered: Promise.resolve() };
    }
    this.#streams.add(client);
    signal?.addEventListener("abort", end);
    const { leave: exit, entered } = this.#enter(name, client, {
      after: readEventId(after),
      info: JSON.stringify(info),
      presence: false,
    });
    leave = exit;
    entered.catch((error: unknown) => client.fail(unavailable(error)));
    return { client, entered };
  }

  /** Ends event streams and subscriptions, so that the shutdown need not wait for them. Clients come back, to another process. */
  drain(): void {
    this.#isDraining = true;
    for (const stream of this.#streams) stream.end();
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  #enter(
    name: string,
    client: RoomClient,
    { after, info, presence }: Entering,
  ): Entry & { readonly entered: Promise<void> } {
    const id = nodeCrypto().randomUUID();
    let room = this.#local.get(name);
    if (room === undefined) this.#local.set(name, (room = new LocalRoom(name, this.#store)));
    const local = room;
    const joined = local.join(id, client, after);
    const entered = Promise.all([joined, this.#store.enter(name, { id, info })]).then(() =>
      presence ? local.attend(id, this.#settings.maxListed) : undefined,
    );
    const leave = (): void => {
      local.leave(id);
      this.#tell(() => this.#store.exit(name, id));
      if (!local.isEmpty || this.#local.get(name) !== local) return;
      this.#local.delete(name);
      this.#tell(() => this.#store.unwatch(name));
    };
    entered.catch(leave);
    return { id, leave, entered };
  }

  /** Sends for another feature, which has its own limits. Failures are in the log. */
  post(name: string, value: unknown): void {
    this.#noted(
      this.#send(name, value, undefined, Number.POSITIVE_INFINITY),
      "send",
      "a message to a room was not sent",
    ).catch(() => {});
  }

  async #send(
    name: string,
    value: unknown,
    except: string | undefined,
    maxMessageSize = this.#settings.maxMessageSize,
  ): Promise<string> {
    const json = toJson(value);
    if (json === undefined) throw new ValueError(`${show(value)} cannot be sent as JSON`);
    if (isLonger(json, maxMessageSize)) throw new ValueError(`a message has more than ${maxMessageSize} bytes as JSON`);
    return String(await available(() => this.#store.send(name, messageText(json, except))));
  }

  /** Who is in a room. */
  async members(name: string): Promise<RoomMembers> {
    const { count, members } = await available(() => this.#store.members(name, this.#settings.maxListed));
    return { count, members: members.map(({ id, info }) => ({ id, info: JSON.parse(info) as unknown })) };
  }

  async #history<Data>(name: string, after?: string): Promise<RoomMessage<Data>[]> {
    const { messages } = await available(() => this.#store.since(name, readEventId(after) ?? 0));
    return messages.map(({ id, text }: StoredMessage) => ({
      id: String(id),
      data: JSON.parse(readMessageText(text).json) as Data,
    }));
  }

  /** Calls the store, now, without waiting for a result. */
  #tell(call: () => unknown): void {
    void this.#noted((async () => call())(), "store", "the store of rooms failed");
  }

  /**
   * A caller that does not await the promise must not end the process by an unhandled rejection. While the store cannot be reached,
   * clients decide how many there are: the log is paced.
   */
  #noted<T>(promise: Promise<T>, kind: "send" | "join" | "stream" | "store", what: string): Promise<T> {
    promise.catch((error: unknown) => {
      const more = this.#paces[kind].next();
      if (more !== null) this.#logger.error(what, { error, ...more });
    });
    return promise;
  }
}

/** A store that cannot be reached is no fault of the handler: 503. */
async function available<T>(ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    throw unavailable(cause);
  }
}

/** A character takes at most three bytes: most messages need not be counted. */
function isLonger(text: string, bytes: number): boolean {
  return text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes);
}
