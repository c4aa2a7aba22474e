/**
 * Announces the definition of a function or class: to workers before its first call (DEFINITION), and to the node (DEFINE).
 */
import {
  count,
  fields,
  list,
  named,
  number,
  objectId,
  type Of,
  optional,
  orUndefined,
  processId,
  text,
  unchecked,
} from "../header-shape.ts";
import { refs, stored } from "../messages.ts";

/**
 * A function or class. `number`: names it in later calls on this connection, 0 if there are none. `contentId`: the hash of the bytes.
 * `inBand`: their length in the body, -1 if the receiver has to fetch them (FETCH_DEFINITION). `stored`: the bytes are in the store
 * instead. `reference`: for the node, the counted reference that keeps the definition; without one it is kept for good. `owner`: at the
 * head, the process that sent it. `own`: for workers, the place in `refs` of the definition's own reference, for values that need it.
 * `maxCalls`: calls that a worker takes before it ends. `held`: as in TASK_CALL.
 */
export const definition = named(
  "definition",
  fields({
    number: unchecked<number>(),
    id: text,
    /** Id by which values name the classes inside. Equal to `id` if a class is the definition itself. */
    contentId: text,
    name: text,
    inBand: number,
    buffers: list(count),
    dependencies: list(text),
    /** References that it captured. */
    refs,
    /** Large captured buffers make the whole definition an object in the store, which all workers map; the body is empty then. */
    stored: orUndefined(stored),
    /** Without it, any number. */
    maxCalls: optional(number),
    reference: optional(objectId),
    owner: optional(processId),
    own: optional(count),
    held: optional(number),
  }),
);
export type DefinitionHeader = Of<typeof definition>;
