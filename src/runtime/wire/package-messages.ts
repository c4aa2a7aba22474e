/**
 * The headers of the messages by which folders travel as packages; the numbers are in `messages.ts`.
 *
 * What is asked and answered is in `runtime/environment/package-exchange.ts`. The bytes go in the body.
 */
import type { JobId, NodeId } from "../base/ids.ts";

/** A folder of the asked node, of which a package is wanted. */
export interface PackageOfferHeader {
  job: JobId;
  directory: string;
  excludes: readonly string[];
  /** Nothing but these files of it. */
  only?: readonly string[] | undefined;
}

export interface PackageOfferedHeader {
  /** SHA-256 of the manifest. */
  hash: string;
  manifestBytes: number;
  contentsBytes: number;
  /** Other nodes that have it, by the first halves of their ids, which is enough to ask them. */
  holders: NodeId[];
  /** Versions of packages that the folder's package.json files name and the asked node has: for which folder in it, name, version. */
  installed: readonly (readonly [folder: string, name: string, version: string])[];
}

/** A range of one of the two files of a package; the answer's body has the bytes. */
export interface PackageReadHeader {
  hash: string;
  part: "manifest" | "contents";
  offset: number;
  length: number;
}

/** The sender has the whole package now, and gives it to others. */
export interface PackageHeldHeader extends PackageOfferHeader {
  hash: string;
}
