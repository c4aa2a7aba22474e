/** Finds the file system of a path. Those for S3 and HTTP are loaded by their first path. */
import type { FileSystem } from "./file-system.ts";
import { LOCAL_FILES } from "./local/local-files.ts";
import { schemeOf } from "./paths.ts";

/** @throws StorageError for a scheme that is not supported */
export async function fileSystemOf(path: string): Promise<FileSystem> {
  const scheme = schemeOf(path);
  if (scheme === "file") return LOCAL_FILES;
  if (scheme === "http") return (await import("./remote/http-files.ts")).HTTP_FILES;
  return (await import("./s3/s3-files.ts")).S3_FILES;
}
