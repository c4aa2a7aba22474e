/**
 * What processes ask of extensions: one message to those of the head and one to those of the node's daemon.
 *
 * An extension names its messages itself and has a shape for each (`runtime/extension/extension.ts`), so a new library needs no number here.
 */
import * as shape from "./header-shape.ts";

export interface ExtensionHeader {
  extension: string;
  message: string;
  /** Of the shape that the extension has for the message; it is checked where the extension is. */
  header: unknown;
}

export const extensionHeader: shape.Shape<ExtensionHeader> = shape.fields<ExtensionHeader>({
  extension: shape.text,
  message: shape.text,
  header: shape.unchecked<unknown>(),
});
