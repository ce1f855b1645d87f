/** The form of a response. */
export type Form = "response" | "json" | "events" | "html";

const forms: Readonly<Record<string, Form>> = {
  "application/graphql-response+json": "response",
  "application/json": "json",
  "text/event-stream": "events",
  "text/html": "html",
  "application/*": "response",
  "text/*": "html",
  "*/*": "json",
};

const known = new Map<string, Form | null>();
const knownWithPages = new Map<string, Form | null>();

/** The form that a client prefers; null if it accepts none. Without the field it is JSON. `pages` allows HTML. */
export function preferredForm(accept: string | undefined, pages: boolean): Form | null {
  if (accept === undefined || accept === "") return "json";
  const forms = pages ? knownWithPages : known;
  let form = forms.get(accept);
  if (form === undefined) {
    form = choose(accept, pages);
    // Clients send few different values; one that sends many gets each computed.
    if (forms.size < 100) forms.set(accept, form);
  }
  return form;
}

/**
 * True if the client takes a result in parts. Clients name the form of parts that they know: one of an older draft, which has
 * `deferSpec`, gets the whole result.
 */
export function acceptsParts(accept: string | undefined): boolean {
  return accept?.toLowerCase().split(",", 50).some(isPartsRange) ?? false;
}

function isPartsRange(range: string): boolean {
  const [type = "", ...parameters] = range.split(";", 10).map((each) => each.trim());
  if (type !== "multipart/mixed" || qualityOf(parameters) <= 0) return false;
  return !parameters.some((each) => /spec[ \t]*=/.test(each) && !/^incrementalspec[ \t]*=[ \t]*"?v0\.2"?$/.test(each));
}

function choose(accept: string, pages: boolean): Form | null {
  let best: Form | null = null;
  let bestQuality = 0;
  for (const range of accept.split(",", 50)) {
    const [type = "", ...parameters] = range.split(";", 10);
    const form = forms[type.trim().toLowerCase()];
    if (form === undefined || (form === "html" && !pages)) continue;
    const quality = qualityOf(parameters);
    if (quality > bestQuality) {
      best = form;
      bestQuality = quality;
    }
  }
  return best;
}

function qualityOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name, value] = parameter.split("=", 2);
    if (name?.trim().toLowerCase() !== "q") continue;
    const quality = Number(value);
    return Number.isFinite(quality) ? Math.min(1, quality) : 0;
  }
  return 1;
}
