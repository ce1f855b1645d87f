import { HttpError } from "../../errors/http-error.js";
import { show } from "../../kit/options.js";

/** There is an execution with this id, with another definition or input. Unhandled, it is a 409. */
export class SagaConflictError extends HttpError {
  constructor(id: string) {
    super(409, `there is a saga with the id ${show(id)} already, with another name or input`);
  }
}
