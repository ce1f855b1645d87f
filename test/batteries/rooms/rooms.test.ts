import { App, type RoomsOptions } from "stoa";
import { serve, type TestServer } from "stoa/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryRoomStore } from "../../../src/batteries/rooms/memory-store.js";
import { until } from "../../engines/kvstore/store.js";
import { Events } from "./events.js";
import { openSocket } from "./socket.js";

async function started(options?: RoomsOptions): Promise<{ app: App; server: TestServer; url: string }> {
  const app = new App().enableRooms(options);
  app.logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => app.logger };
  app.websocket("/ws/{room}", async (socket) => {
    const after = socket.query.get("after");
    await socket.join(socket.params.room, {
      info: { name: socket.query.get("name") ?? "nobody" },
      envelope: socket.query.has("envelope"),
      presence: socket.query.has("presence"),
      ...(after !== undefined && { after }),
    });
    for await (const message of socket) {
      if (message.text === "leave") socket.leave(socket.params.room);
      if (message.text === "to others") await app.rooms(socket.params.room).send("from another", { except: socket });
      await socket.sendText(`heard ${message.text}`);
    }
  });
  app.get("/events/{room}", (request) => request.rooms.stream(request.params.room, { info: { name: "a reader" } }));
  app.get("/present/{room}", (request) => request.rooms.stream(request.params.room, { presence: true }));
  app.get("/all/{room}", (request) => request.rooms.stream(request.params.room, { after: "0" }));
  const server = await serve(app, { debug: false });
  onTestFinished(() => server.close());
  return { app, server, url: server.url };
}

/** Waits until so many clients are in a room. */
async function present(app: App, room: string, count: number): Promise<void> {
  await until(async () => (await app.rooms(room).members()).count === count);
}

describe("a room", () => {
  it("A room sends an event stream all that it missed in one response, however much more than maxBuffered it is", async () => {
    const { app, url } = await started({ history: 500, maxBuffered: 2000 });
    const ids: string[] = [];
    for (let i = 0; i < 500; i++) ids.push(await app.rooms("lobby").send(`${i} ${"x".repeat(1000)}`));
    const events = await Events.open(`${url}/events/lobby`, ids[0]);
    expect((await events.take(499)).map((data) => Number.parseInt(data, 10))).toEqual(
      ids.slice(1).map((_, i) => i + 1),
    );
    await app.rooms("lobby").send("and on");
    expect(await events.take(1)).toEqual(["and on"]);
  });

  it("Messages and members of rooms are kept in the store of the option", async () => {
    const [sent, entered]: [string[], string[]] = [[], []];
    class Recording extends MemoryRoomStore {
      override send(room: string, text: string): number {
        sent.push(`${room} ${text}`);
        return super.send(room, text);
      }
      override enter(...given: Parameters<MemoryRoomStore["enter"]>): void {
        entered.push(given[0]);
        super.enter(...given);
      }
    }
    const { app, url } = await started({ store: new Recording() });
    const events = await Events.open(`${url}/events/lobby`);
    await present(app, "lobby", 1);
    await app.rooms("lobby").send("hello");
    expect(await events.take(1)).toEqual(["hello"]);
    expect([sent, entered]).toEqual([['lobby "hello"'], ["lobby"]]);
  });

  it("A room forgets its messages historySecs after the last one", async () => {
    const { app, url } = await started({ historySecs: "1ms" });
    await app.rooms("lobby").send("old");
    const sent = performance.now();
    await until(() => performance.now() - sent > 5);
    const events = await Events.open(`${url}/all/lobby`);
    await present(app, "lobby", 1);
    await app.rooms("lobby").send("new");
    expect(await events.take(1)).toEqual(["new"]);
  });

  it("The event stream of a room has its heartbeat and its time to reconnect", async () => {
    const app = new App().enableRooms();
    app.get("/", (request) => request.rooms.stream("lobby", { heartbeat: "10ms", retry: 7 }));
    await using server = await serve(app, { debug: false });
    const { body } = await fetch(server.url);
    const twoHeartbeats = /^retry: 7000\n.*^: \n\n.*^: \n\n/ms;
    let text = "";
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (twoHeartbeats.test(text)) break;
    }
    expect(text).toMatch(twoHeartbeats);
  });

  it("A room sends a message to its WebSockets and event streams, and to no other room", async () => {
    const { app, server, url } = await started();
    const [lobby, other] = await Promise.all([
      openSocket(`${server.url}/ws/lobby`),
      openSocket(`${server.url}/ws/other`),
    ]);
    const events = await Events.open(`${url}/events/lobby`);
    await present(app, "lobby", 2);
    await present(app, "other", 1);
    await app.rooms("lobby").send({ text: "hello" });
    await app.rooms("lobby").send("as it is");
    await app.rooms("other").send(1);
    expect([(await lobby.recv())?.text, (await lobby.recv())?.text]).toEqual(['{"text":"hello"}', "as it is"]);
    expect(await events.take(2)).toEqual(['{"text":"hello"}', "as it is"]);
    expect((await other.recv())?.text).toBe("1");
  });

  it("A message that is sent except to a WebSocket reaches all others in the room, and is kept for those who come later", async () => {
    const { app, server, url } = await started();
    const [sender, other] = await Promise.all([
      openSocket(`${server.url}/ws/lobby`),
      openSocket(`${server.url}/ws/lobby?envelope`),
    ]);
    const events = await Events.open(`${url}/events/lobby`);
    const code = app.rooms("lobby").subscribe();
    await present(app, "lobby", 4);
    await sender.sendText("to others");
    expect((await other.recv())?.json()).toMatchObject({ room: "lobby", data: "from another" });
    expect(await events.take(1)).toEqual(["from another"]);
    expect((await code.next()).value).toBe("from another");
    await code.return!();
    expect((await sender.recv())?.text).toBe("heard to others");
    expect(await (await Events.open(`${url}/all/lobby`)).take(1)).toEqual(["from another"]);
    expect((await app.rooms("lobby").history()).map(({ data }) => data)).toEqual(["from another"]);
    await sender.sendText("leave");
    expect((await sender.recv())?.text).toBe("heard leave");
    await sender.sendText("to others");
    expect((await sender.recv())?.text).toBe("heard to others");
    expect(await events.take(1)).toEqual(["from another"]);
  });

  it("Clients that ask for it are told who is in a room, and who joins and leaves", async () => {
    const { app, server, url } = await started();
    const ada = await openSocket(`${server.url}/ws/lobby?name=ada&envelope&presence`);
    const { present: first } = (await ada.recv())!.json<{ present: { you: string } }>();
    const adaThere = { id: first.you, info: { name: "ada" } };
    expect(first).toEqual({ you: first.you, count: 1, members: [adaThere] });
    const bob = await openSocket(`${server.url}/ws/lobby?name=bob`);
    const { joined } = (await ada.recv())!.json<{ joined: { id: string } }>();
    expect(joined).toEqual({ id: joined.id, info: { name: "bob" } });
    const events = await Events.open(`${url}/present/lobby`);
    const { event, data } = (await events.next())!;
    const { you } = JSON.parse(data) as { you: string };
    expect([event, JSON.parse(data)]).toEqual([
      "present",
      { you, count: 3, members: [adaThere, joined, { id: you, info: null }] },
    ]);
    expect((await ada.recv())?.json()).toEqual({ room: "lobby", joined: { id: you, info: null } });
    await app.rooms("lobby").send("hello");
    expect((await bob.recv())?.text).toBe("hello");
    expect((await ada.recv())?.json()).toMatchObject({ data: "hello" });
    expect(await events.next()).toMatchObject({ event: "", data: "hello" });
    await bob.close();
    expect((await ada.recv())?.json()).toEqual({ room: "lobby", left: joined });
    expect(await events.next()).toEqual({ id: "", event: "left", data: JSON.stringify(joined) });
    events.leave();
    expect((await ada.recv())?.json()).toEqual({ room: "lobby", left: { id: you, info: null } });
  });

  it("A room sends nothing to a WebSocket that has left it or was closed", async () => {
    const { app, server } = await started();
    const [one, two] = await Promise.all([openSocket(`${server.url}/ws/lobby`), openSocket(`${server.url}/ws/lobby`)]);
    await present(app, "lobby", 2);
    await one.sendText("leave");
    expect((await one.recv())?.text).toBe("heard leave");
    await present(app, "lobby", 1);
    await app.rooms("lobby").send("for two");
    expect((await two.recv())?.text).toBe("for two");
    await one.sendText("more");
    expect((await one.recv())?.text).toBe("heard more");
    await two.close();
    await present(app, "lobby", 0);
  });

  it("A room sends an event stream that comes back the messages it has missed", async () => {
    const { app, url } = await started();
    const first = await Events.open(`${url}/events/lobby`);
    await present(app, "lobby", 1);
    await app.rooms("lobby").send("one");
    const { id, data } = (await first.next())!;
    expect(data).toBe("one");
    first.leave();
    await present(app, "lobby", 0);
    await app.rooms("lobby").send("two");
    await app.rooms("lobby").send("three");
    const second = await Events.open(`${url}/events/lobby`, id);
    expect(await second.take(2)).toEqual(["two", "three"]);
    await app.rooms("lobby").send("four");
    expect(await second.take(1)).toEqual(["four"]);
    const all = await Events.open(`${url}/all/lobby`);
    expect(await all.take(4)).toEqual(["one", "two", "three", "four"]);
  });

  it("A room sends a WebSocket the messages after an id, with their ids if it asks for them", async () => {
    const { app, server } = await started();
    const ids = [];
    for (const text of ["one", "two", "three"]) ids.push(await app.rooms("lobby").send(text));
    const socket = await openSocket(`${server.url}/ws/lobby?envelope&after=${ids[0]}`);
    const messages = [(await socket.recv())!.json(), (await socket.recv())!.json()];
    expect(messages).toEqual([
      { room: "lobby", id: ids[1], data: "two" },
      { room: "lobby", id: ids[2], data: "three" },
    ]);
    expect((await app.rooms("lobby").history(ids[1])).map(({ data }) => data)).toEqual(["three"]);
  });

  it("A room tells a client if messages that it has missed are no longer kept", async () => {
    const { app, url } = await started({ history: 2 });
    const id = await app.rooms("lobby").send("one");
    for (const text of ["two", "three", "four"]) await app.rooms("lobby").send(text);
    const events = await Events.open(`${url}/events/lobby`, id);
    expect(await events.next()).toMatchObject({ event: "gap" });
    expect(await events.take(2)).toEqual(["three", "four"]);
  });

  it("A room ignores a Last-Event-ID that is not one of its ids", async () => {
    const { app, url } = await started();
    await app.rooms("lobby").send("old");
    for (const id of ["abc", "1e9", "99999999999999999999", "-1"]) {
      const events = await Events.open(`${url}/events/lobby`, id);
      await present(app, "lobby", 1);
      await app.rooms("lobby").send(`after ${id}`);
      expect(await events.take(1)).toEqual([`after ${id}`]);
      events.leave();
      await present(app, "lobby", 0);
    }
  });

  it("A room lists its members with their info up to a number, and counts all", async () => {
    const { app, server } = await started({ maxListed: 2 });
    await Promise.all(["ada", "bob", "cy"].map((name) => openSocket(`${server.url}/ws/lobby?name=${name}`)));
    await present(app, "lobby", 3);
    const { count, members } = await app.rooms("lobby").members();
    expect([count, members.length]).toEqual([3, 2]);
    expect(members[0]?.info).toEqual({ name: expect.stringMatching(/ada|bob|cy/) });
  });

  it("A room keeps the order of messages that are sent at once", async () => {
    const { app, server } = await started();
    const socket = await openSocket(`${server.url}/ws/lobby`);
    await present(app, "lobby", 1);
    await Promise.all(Array.from({ length: 200 }, (_, i) => app.rooms("lobby").send(i)));
    for (let i = 0; i < 200; i++) expect((await socket.recv())?.text).toBe(String(i));
  });

  it("A room ends its event streams when the server drains", async () => {
    const { app, server, url } = await started();
    const events = await Events.open(`${url}/events/lobby`);
    await present(app, "lobby", 1);
    await Promise.all([server.close(), expect(events.next()).resolves.toBeNull()]);
  });

  it("A room whose name a client made too long gets 400", async () => {
    const app = new App().enableRooms();
    app.get("/rooms/{name}", (request) => app.rooms(request.params.name).members());
    expect((await app.request(`/rooms/${"x".repeat(201)}`)).status).toBe(400);
    expect((await app.request("/rooms/x")).status).toBe(200);
  });

  it("Rooms refuse names, messages and options that are not valid", async () => {
    const { app } = await started({ maxMessageSize: 10 });
    expect(() => app.rooms("")).toThrow("the name of a room is a string of 1 to 200 characters");
    expect(() => app.rooms("x".repeat(201))).toThrow("the name of a room");
    await expect(app.rooms("a").send(undefined)).rejects.toThrow("undefined cannot be sent as JSON");
    const late = Promise.reject(new Error("late"));
    await expect(app.rooms("a").send({ late })).rejects.toThrow("late is a promise or a queryset");
    await expect(app.rooms("a").send("0123456789")).rejects.toThrow("a message has more than 10 bytes as JSON");
    // Six characters of two bytes each, with the quotation marks: eight characters, fourteen bytes.
    await expect(app.rooms("a").send("éééééé")).rejects.toThrow("a message has more than 10 bytes as JSON");
    await expect(app.rooms("a").send("éééé")).resolves.toMatch(/^\d+$/);
    expect(() => app.rooms("a").send("x", { except: {} as never })).toThrow("'except' in send() must be a WebSocket");
    expect(() => new App().enableRooms({ onSlow: "wait" as "drop" })).toThrow("'onSlow'");
    const without = new App().get("/", (request) => request.rooms("x").name);
    without.logger = app.logger;
    expect((await without.request("/")).status).toBe(500);
    expect(() => new App().rooms("x")).toThrow("app.rooms() needs app.enableRooms()");
  });

  it("A WebSocket can join a limited number of rooms, and is told of members in an envelope alone", async () => {
    const app = new App().enableRooms({ maxJoined: 2 });
    app.websocket("/", async (socket) => {
      const results: string[] = [];
      expect(() => socket.join("a", { presence: true })).toThrow("option 'presence' in join() needs envelope: true");
      for (const room of ["a", "b", "a", "c"]) {
        try {
          await socket.join(room);
          results.push("joined");
        } catch (error) {
          results.push((error as Error).message);
        }
      }
      await socket.sendJson(results);
    });
    const server = await serve(app, { debug: false });
    onTestFinished(() => server.close());
    const socket = await openSocket(`${server.url}/`);
    expect((await socket.recv())?.json()).toEqual([
      "joined",
      "joined",
      "joined",
      "a WebSocket can be in 2 rooms at most",
    ]);
  });
});

describe("code that subscribes to a room", () => {
  it("A subscription gets what is sent from then on, without what its filter leaves out, until it is ended", async () => {
    const { app } = await started();
    const room = app.rooms<{ n: number }>("numbers");
    await room.send({ n: 0 });
    const left = new AbortController();
    const even = room.subscribe({ filter: ({ n }) => n % 2 === 0, signal: left.signal });
    const all = room.subscribe();
    for (const n of [1, 2, 3, 4]) await room.send({ n });
    expect([await even.next(), await even.next()]).toMatchObject([{ value: { n: 2 } }, { value: { n: 4 } }]);
    const next = even.next();
    left.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await all.next()).toEqual({ done: false, value: { n: 1 } });
    expect(await all.return!()).toEqual({ done: true, value: undefined });
    expect(await all.next()).toEqual({ done: true, value: undefined });
    await present(app, "numbers", 0);
    expect(await room.subscribe({ signal: left.signal }).next()).toEqual({ done: true, value: undefined });
  });

  it("A subscription can begin with the messages that are kept", async () => {
    const { app } = await started();
    const room = app.rooms<number>("numbers");
    const first = await room.send(1);
    await room.send(2);
    const all = room.subscribe({ after: "0" });
    const rest = room.subscribe({ after: first });
    await room.send(3);
    const taken = async (numbers: AsyncIterableIterator<number>, count: number) => {
      const values: number[] = [];
      for (let i = 0; i < count; i++) values.push((await numbers.next()).value);
      return values;
    };
    expect(await taken(all, 3)).toEqual([1, 2, 3]);
    expect(await taken(rest, 2)).toEqual([2, 3]);
    await Promise.all([all.return!(), rest.return!()]);
  });

  it.each(["disconnect", "drop"] as const)(
    "A subscription that does not take its messages, or whose filter throws, ends with an error, and others go on (onSlow: %s)",
    async (onSlow) => {
      const { app } = await started({ maxBuffered: 400, onSlow });
      const room = app.rooms<number>("numbers");
      const [slow, quick] = [room.subscribe(), room.subscribe({ filter: (n) => n > 3 })];
      const odd = room.subscribe({
        filter: () => {
          throw new Error("a mistake");
        },
      });
      for (let n = 0; n < 7; n++) await room.send(n);
      await expect(odd.next()).rejects.toThrow("a mistake");
      const taken: number[] = [];
      const take = async (): Promise<void> => {
        for await (const n of slow) taken.push(n);
      };
      await expect(take()).rejects.toThrow("slower than they are sent");
      expect(taken).toEqual([0, 1, 2, 3, 4, 5, 6].slice(0, taken.length));
      expect([await quick.next(), await quick.next()]).toMatchObject([{ value: 4 }, { value: 5 }]);
      await present(app, "numbers", 1);
    },
  );

  it("A subscription ends when the application stops", async () => {
    const { app, server } = await started();
    const next = app.rooms("numbers").subscribe().next();
    await server.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it("Wrong options of a subscription are refused", async () => {
    const { app } = await started();
    const subscribe = (options: object) => () => app.rooms("numbers").subscribe(options);
    expect(subscribe({ filter: 1 })).toThrow("filter");
    expect(subscribe({ signal: {} })).toThrow("an AbortSignal");
  });
});
