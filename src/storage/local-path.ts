/**
 * Paths as users write them: paths of this machine, relative ones to the working directory, and `file:` URLs.
 *
 * Other schemes are refused here, by name, before anything is opened.
 */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { StorageError } from "./errors.ts";

const SCHEME = /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\//;

/**
 * The absolute path of this machine that `path` names.
 *
 * @throws StorageError for a scheme that is not supported
 */
export function localPath(path: string): string {
  const scheme = SCHEME.exec(path)?.[1]?.toLowerCase();
  if (scheme === undefined) return resolve(path);
  if (scheme === "file") return fileURLToPath(path);
  throw new StorageError(`Cannot open ${withoutSecrets(path)}: ${scheme}:// is not supported`, {
    hint: "supported are paths of this machine and file:// URLs; copy the files here first",
  });
}

/** A URL without what may be a credential: user, password and query. */
function withoutSecrets(url: string): string {
  return url.replace(/:\/\/[^/@]*@/, "://").replace(/[?#].*$/s, "");
}
