import { expect, it, vi } from "vitest";
import { deferredClient } from "../../src/kit/before-start.js";

class Client {
  #sent = 0;
  from = "";
  send(): number {
    return ++this.#sent;
  }
  readonly http = Object.assign(() => "call", { get: () => "got" });
}

it("A client that was taken before the start behaves as the client that the start made", () => {
  let made: Client | null = null;
  const early = deferredClient("app.mail", () => made);
  expect(() => early.send()).toThrow("app.mail.send was used before the application was started");
  expect(() => (early.from = "x")).toThrow("app.mail.from was used before the application was started");
  expect("send" in early).toBe(false);
  made = new Client();
  early.from = "shop";
  expect(made.from).toBe("shop");
  expect([early.send(), made.send()]).toEqual([1, 2]);
  expect(early.send).toBe(early.send);
  expect("send" in early).toBe(true);
  expect(early).toBeInstanceOf(Client);
  expect([early.http(), early.http.get()]).toEqual(["call", "got"]);
  vi.spyOn(made, "send").mockReturnValue(17);
  expect(early.send()).toBe(17);
});

it("To await a client that cannot be had yet is no use of it", async () => {
  const away = deferredClient<Client>("app.mail", () => {
    throw new Error("app.mail is not connected");
  });
  expect(await away).toBe(away);
  expect(() => away.send()).toThrow("app.mail is not connected");
});
