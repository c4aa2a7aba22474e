/**
 * How the definition of a function or class is announced: to workers ahead of its first call (DEFINITION), and to the node (DEFINE).
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
} from "./header-shape.ts";
import { refs, stored } from "./messages.ts";

/**
 * A function or class. `number`: of later calls on this connection, 0 where there are none; `contentId`: the hash of its bytes; `inBand`: their length in the body, -1 where they
 * are to be fetched (FETCH_DEFINITION); `stored`: it lies in the store instead; `reference`: sent to the node, the counted reference with which the definition lives and ends,
 * kept for good without it; `owner`: at the head, the process that sent it; `own`: sent to workers, the place in `refs` of the definition's own reference, for values that need
 * it; `maxCalls`: how many calls of it a worker takes before it ends; `held`: as in TASK_CALL.
 */
export const definition = named(
  "definition",
  fields({
    number: unchecked<number>(),
    id: text,
    /** Values name the classes inside it by this. Equal to `id` where a class is a definition of its own. */
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
