/**
 * The text of a message in a store: the value as JSON, or `@client value` if one client does not get it. JSON never begins
 * with that sign. So each store keeps and passes on the whole message, and need not know of it.
 */
export function messageText(json: string, except: string | undefined): string {
  return except === undefined ? json : `@${except} ${json}`;
}

export function readMessageText(text: string): { readonly json: string; readonly except: string | null } {
  if (!text.startsWith("@")) return { json: text, except: null };
  const space = text.indexOf(" ");
  return { json: text.slice(space + 1), except: text.slice(1, space) };
}
