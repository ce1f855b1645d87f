import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

export interface User {
  readonly name: string;
  readonly role: "admin" | "reader";
}

const derive = promisify<string, Buffer, number, Buffer>(scrypt);

/** Users with hashed passwords. A name that is not known takes as long as one that is. */
export class Users {
  readonly #users = new Map<string, { readonly user: User; readonly salt: Buffer; readonly hash: Buffer }>();
  readonly #nobody = { salt: randomBytes(16), hash: randomBytes(64) };

  async add(user: User, password: string): Promise<void> {
    const salt = randomBytes(16);
    this.#users.set(user.name, { user, salt, hash: await derive(password, salt, 64) });
  }

  async check(name: string, password: string): Promise<User | undefined> {
    const entry = this.#users.get(name);
    const { salt, hash } = entry ?? this.#nobody;
    const matches = timingSafeEqual(await derive(password, salt, 64), hash);
    return matches ? entry?.user : undefined;
  }
}
