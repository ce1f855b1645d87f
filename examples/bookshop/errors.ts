import {
  type App,
  CheckViolation,
  ForeignKeyViolation,
  HttpError,
  OperationalError,
  ParameterRangeError,
  ParameterTypeError,
  ParameterValueError,
  Response,
  UniqueViolation,
} from "stoa";
import { DoesNotExist } from "stoa/orm";

/** What was asked for cannot be done as things stand: there are too few copies, the order has been shipped. */
export class Conflict extends Error {}

/** The response to each error. An error that is not named here is a 500. */
export function answerErrors(app: App): void {
  const answer = (status: number, error: string): Response => Response.json({ error }, { status });
  app.exceptionHandler(Conflict, (_request, { message }) => answer(409, message));
  app.exceptionHandler(DoesNotExist, () => answer(404, "Not found"));
  app.exceptionHandler(UniqueViolation, (_request, { column }) => answer(409, `There is one with this ${column}`));
  app.exceptionHandler(ForeignKeyViolation, () => answer(409, "It refers to what is not there, or is referred to"));
  // The same form as that of a body with mistakes: this is one that only the database sees.
  app.exceptionHandler(CheckViolation, (_request, { column }) => {
    const mistake = { loc: [column ?? "body"], msg: "The value is not allowed", type: "value_error" };
    return Response.json({ detail: [mistake] }, { status: 400 });
  });
  app.exceptionHandler(OperationalError, () => answer(503, "The database cannot be reached; try again later"));
  // A filter or an order that is not allowed, a text where a number belongs. All other errors keep their responses.
  app.exceptionHandler(HttpError, (_request, error) => {
    if (error.code !== "BAD_REQUEST" || error.body !== undefined) throw error;
    return answer(400, error.message);
  });
  // A cursor that is none.
  for (const mistake of [ParameterTypeError, ParameterValueError, ParameterRangeError]) {
    app.exceptionHandler(mistake, (_request, { message }) => answer(400, message));
  }
}
