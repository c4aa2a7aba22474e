/**
 * Questions of processes to extensions: one message for those of the head and one for those of the node's daemon.
 *
 * An extension names its messages itself and has a shape for each (`runtime/extension/extension.ts`), so a new library needs no number here.
 */
import { fields, nodeId, type Of, optional, text, unchecked } from "../header-shape.ts";

export const extensionHeader = fields({
  extension: text,
  message: text,
  /** The node whose daemon is asked; absent for the asker's own node, and for the head. */
  node: optional(nodeId),
  /** Has the shape that the extension declares for the message; checked by the process that hosts the extension. */
  header: unchecked<unknown>(),
});
export type ExtensionHeader = Of<typeof extensionHeader>;
