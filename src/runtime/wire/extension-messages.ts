/**
 * What processes ask of extensions: one message to those of the head and one to those of the node's daemon.
 *
 * An extension names its messages itself and has a shape for each (`runtime/extension/extension.ts`), so a new library needs no number here.
 */
import { fields, type Of, text, unchecked } from "./header-shape.ts";

export const extensionHeader = fields({
  extension: text,
  message: text,
  /** Of the shape that the extension has for the message; it is checked where the extension is. */
  header: unchecked<unknown>(),
});
export type ExtensionHeader = Of<typeof extensionHeader>;
