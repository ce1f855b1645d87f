import type { Host } from "../../../feature/host.js";
import type { Request } from "../../../http/request.js";
import { Response } from "../../../http/response.js";

export function playgroundOf(_host: Host, _path: string): (request: Request) => Response {
  return () => Response.text("not yet");
}
