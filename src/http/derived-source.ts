import { receivedBody } from "./body/received-body.js";
import { fieldOf } from "./fields/field-of.js";
import type { RequestSource } from "./source.js";

/** The differences of a request that is made from another one. */
interface Derived extends Pick<RequestSource, "method" | "path" | "search"> {
  /** Null for none. */
  readonly bytes: Uint8Array | null;
  /** Names of fields, in lower case, that stay with the other request. */
  readonly without: RegExp;
  /** Further fields, in lower case, in place of those of the same name. */
  readonly fields?: ReadonlyMap<string, string>;
}

/** The source of a request that is made from another one, of the same client. Nothing of the other one is read later. */
export function derivedSource(source: RequestSource, derived: Derived): RequestSource {
  const { method, path, search, bytes, without, fields = new Map<string, string>() } = derived;
  const { remoteAddress, secure } = source;
  const received = source.headerLines();
  const kept = received.filter((_, index) => {
    const name = received[index - (index % 2)]!.toLowerCase();
    return !without.test(name) && !fields.has(name);
  });
  const lines = [...kept, ...[...fields].flat()];
  const body = bytes === null ? null : receivedBody(bytes);
  const header = (name: string) => fieldOf(lines, name);
  return { method, path, search, remoteAddress, secure, body, wantsWebSocket: false, header, headerLines: () => lines };
}
