/**
 * Paths as users write them: paths of this machine, relative ones to the working directory, and URLs (`file:`, `s3:`, `http:`, `https:`).
 *
 * User, password and query of a URL may be credentials: requests alone use them, and messages have `shownPath`.
 */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { StorageError } from "./errors.ts";

const SCHEME = /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\//;

/** File system of a path. */
type Scheme = "file" | "s3" | "http";

const SCHEMES: Readonly<Record<string, Scheme>> = { file: "file", s3: "s3", s3a: "s3", http: "http", https: "http" };

/** @throws StorageError for a scheme that is not supported */
export function schemeOf(path: string): Scheme {
  const scheme = SCHEME.exec(path)?.[1]?.toLowerCase() ?? "file";
  if (Object.hasOwn(SCHEMES, scheme)) return SCHEMES[scheme] as Scheme;
  throw new StorageError(`Cannot open ${shownPath(path)}: ${scheme}:// is not supported`, {
    hint: "supported are paths of this machine and the URLs file://, s3://, http:// and https://; copy the files to one of these first",
  });
}

/** The absolute path of this machine that `path` names. */
export function localPath(path: string): string {
  return SCHEME.test(path) ? fileURLToPath(path) : resolve(path);
}

/** A path as messages and columns may have it: a URL without user, password and query. A question mark in a key of S3 begins no query. */
export function shownPath(path: string): string {
  const scheme = SCHEME.exec(path)?.[1]?.toLowerCase();
  if (scheme === undefined || scheme === "file") return path;
  const plain = scheme === "s3" || scheme === "s3a" ? path : path.replace(/[?#].*$/s, "");
  return plain.replace(/:\/\/[^/]*@/, "://");
}

/** Joins a folder and the names below it. @throws StorageError for a name that leads out of the folder */
export function joinPath(folder: string, ...names: readonly string[]): string {
  for (const name of names)
    if (name.split(/[/\\]/).includes(".."))
      throw new StorageError(`Cannot use the name ${JSON.stringify(name)}: it leads out of the folder ${shownPath(folder)}`);
  if (!SCHEME.test(folder)) return join(folder, ...names);
  return [folder.replace(/\/+$/, ""), ...names].join("/");
}

/** Replaces `~` by the user's home, as in a shell. */
export function withHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
