/**
 * The headers of the messages by which folders travel as packages; the numbers are in `messages.ts`.
 *
 * `runtime/environment/package-exchange.ts` explains the questions and answers. The bytes are in the body.
 */
import type { NodeId } from "../../base/ids.ts";
import { count, exactly, fields, jobId, list, number, type Of, optional, readonlyList, text, textOf, tuple } from "../header-shape.ts";

const folder = {
  job: jobId,
  directory: text,
  excludes: readonlyList(text),
  /** Limits the package to these files. */
  only: optional(readonlyList(text)),
};
/** A folder of the asked node, to be packed. */
export const packageOffer = fields(folder);
export type PackageOfferHeader = Of<typeof packageOffer>;

export const packageOffered = fields({
  /** SHA-256 of the manifest. */
  hash: text,
  manifestBytes: count,
  contentsBytes: count,
  /** Node tags of the other nodes that have the package, which are enough to ask them. */
  holders: list(textOf<NodeId>("node tag")),
  /** Versions on the asked node of the packages that the folder's package.json files name. */
  installed: readonlyList<readonly [folder: string, name: string, version: string]>(tuple(text, text, text)),
});
export type PackageOfferedHeader = Of<typeof packageOffered>;

/** A range of one of the two files of a package; the answer's body has the bytes. */
export const packageRead = fields({ hash: text, part: exactly("manifest", "contents"), offset: number, length: number });
export type PackageReadHeader = Of<typeof packageRead>;

/** The sender has the whole package now, and gives it to others. */
export const packageHeld = fields({ ...folder, hash: text });
export type PackageHeldHeader = Of<typeof packageHeld>;
