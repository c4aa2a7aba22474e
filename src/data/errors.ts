/**
 * The errors of `shoal/data`.
 *
 * Messages quote names and values of files, which may be megabytes long. So long messages lose their middle: the beginning names the
 * failure, and the end often has the remedy.
 */
import { ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";
import { ERROR_TEXT_MAX } from "./limits.ts";

/** Data that cannot be read, do not fit their columns, or are asked for by a name that no column has. The message names the column, the row and the file as far as they are known. */
export class DataError extends ShoalError {
  static override readonly code: string = "DATA_INVALID";

  constructor(message: string, options: ConstructorParameters<typeof ShoalError>[1] = {}) {
    const { reason, hint } = options;
    super(bounded(message), {
      ...options,
      ...(reason === undefined ? {} : { reason: bounded(reason) }),
      ...(hint === undefined ? {} : { hint: bounded(hint) }),
    });
  }
}

registerErrorClass(DataError);

/** Remedy for a column that some blocks behind a function have. */
export const DIFFERING_ROWS = "where a function gives rows different columns, materialize() before this step gives all rows all columns";

const errorsOfSetup = new WeakSet<object>();

/** Marks an error of the machine's setup, such as a missing program: every file would meet it, so no file is left out for it. */
export function ofSetup<E extends Error>(error: E): E {
  errorsOfSetup.add(error);
  return error;
}

/** Whether an error, or a cause behind it, was marked by {@link ofSetup}. */
export function isOfSetup(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return errorsOfSetup.has(error) || isOfSetup(error.cause);
}

function bounded(text: string): string {
  if (text.length <= ERROR_TEXT_MAX) return text;
  const end = Math.floor(ERROR_TEXT_MAX / 4);
  const leftOut = text.length - ERROR_TEXT_MAX;
  return `${text.slice(0, ERROR_TEXT_MAX - end)} … (${leftOut} characters left out) … ${text.slice(-end)}`;
}
