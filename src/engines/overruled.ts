/** A sentence for each part of a URL that has no effect, because an option gives another value. No value is shown. */
export function overruled(owner: string, url: object, settings: object): string[] {
  const options = settings as Readonly<Record<string, unknown>>;
  return Object.entries(url)
    .filter(([name, value]) => value !== undefined && typeof value !== "object" && value !== options[name])
    .map(([name]) => `the URL in ${owner} has another '${name}' than the option '${name}', which wins`);
}
