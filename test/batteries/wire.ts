import http from "node:http";

export interface WireResponse {
  readonly status: number;
  readonly body: Buffer;
  readonly text: string;
  /** Every value of a field, one item per line received. */
  all(name: string): string[];
  /** The only value of a field; undefined when there is none, an error when there are several. */
  get(name: string): string | undefined;
}

export interface WireRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

/** Sends a request as it is: no path is tidied up, no field added, no body decoded. */
export function send(url: string, path: string, init: WireRequest = {}): Promise<WireResponse> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const { method = "GET", headers = {}, body } = init;
    const request = http.request({ hostname, port, path, method, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", reject);
      response.on("end", () => resolve(received(response, Buffer.concat(pieces))));
    });
    request.on("error", reject);
    request.end(body);
  });
}

function received(response: http.IncomingMessage, body: Buffer): WireResponse {
  const all = (name: string): string[] => {
    const values: string[] = [];
    for (let i = 0; i < response.rawHeaders.length; i += 2) {
      if (response.rawHeaders[i]!.toLowerCase() === name.toLowerCase()) values.push(response.rawHeaders[i + 1]!);
    }
    return values;
  };
  const get = (name: string): string | undefined => {
    const values = all(name);
    if (values.length > 1) throw new Error(`${name} was sent ${values.length} times: ${values.join(" | ")}`);
    return values[0];
  };
  return { status: response.statusCode!, body, text: body.toString("utf8"), all, get };
}
