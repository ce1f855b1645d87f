import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import { isPromise } from "../kit/is-promise.js";
import type { Dispatch } from "./transport.js";

/** Gives the request to the application; its response, or its failure, may come at once. */
export function answer(
  dispatch: Dispatch,
  request: Request,
  settle: (response: Response) => void,
  fail: (error: unknown) => void,
): void {
  try {
    const result = dispatch(request);
    if (isPromise<Response>(result)) result.then(settle, fail);
    else settle(result);
  } catch (error) {
    fail(error);
  }
}
