/**
 * The headers of questions that look into a process of a node, and of their answers; the numbers are in `messages.ts`.
 *
 * A result may be larger than a frame: the answer has its first part as the body, and `id` reads the rest.
 */
import { count, exactly, fields, type Of, text } from "../header-shape.ts";

export const inspectAsked = fields({
  node: text,
  /** A worker or a program of the node. */
  process: text,
  /** `open` opens the inspector for a debugger or keeps it open, and the result is `{ url }`; `close` closes it. */
  work: exactly("stack", "cpu", "heap", "snapshot", "open", "close"),
  /** Length of a profile. */
  durationMs: count,
});
export type InspectHeader = Of<typeof inspectAsked>;

export const inspectAnswer = fields({ id: text, sizeBytes: count });

export const inspectReadAsked = fields({ node: text, id: text, at: count });
