/**
 * Files behind `http://` and `https://`, for reading.
 *
 * The whole URL is requested, with its query; user and password become the header `Authorization`. A URL names one file: servers have no folders. Ranges are used where the
 * server gives them, else a file is fetched whole. The size comes from a request of one byte, not from `HEAD`, which URLs that are signed for `GET` refuse.
 */
import { StorageError } from "../errors.ts";
import type { FileBytes, FileSystem, ListedFile } from "../file-system.ts";
import { type HttpAnswer, send } from "./http-requests.ts";
import { REDIRECTS_MAX, UNRANGED_FILE_BYTES_MAX } from "../limits.ts";
import { shownPath } from "../paths.ts";
import { readRemote, RemoteBytes, type RemoteFile, versionOf } from "./remote-file.ts";

export const HTTP_FILES: FileSystem = {
  fullPath: refuseWriting,
  async list(path) {
    const found = await probe(path);
    if (found === undefined) return [];
    const listed: ListedFile = { path, sizeBytes: found.size ?? 0 };
    return [listed];
  },
  listAll: refuseFolder,
  hasFolder: refuseFolder,
  names: refuseFolder,
  renameFolder: undefined,
  read: (path) => readRemote(remoteFile(path)),
  openBytes,
  makeFolder: refuseWriting,
  openSink: refuseWriting,
  publish: ({ to }) => refuseWriting(to),
  remove: ([path]) => refuseWriting(path as string),
  removeFolder: refuseWriting,
};

function refuseWriting(path: string): never {
  throw new StorageError(`Cannot write to ${shownPath(path)}: files behind HTTP can only be read`, {
    hint: "write to a folder of this machine or to s3://",
  });
}

function refuseFolder(path: string): never {
  throw new StorageError(`Cannot list the folder ${shownPath(path)}: servers of HTTP have no folders`, {
    hint: "use a folder of this machine or of s3://",
  });
}

/** @throws StorageError for an invalid URL */
function urlOf(path: string): URL {
  // The error of the constructor holds the whole text, so it does not become the cause.
  if (!URL.canParse(path)) throw new StorageError(`Cannot read ${shownPath(path)}: it is no URL`);
  const url = new URL(path);
  url.hash = "";
  return url;
}

export function remoteFile(path: string, idleMs?: number): RemoteFile {
  const shown = shownPath(path);
  return {
    shown,
    async get(range, signal) {
      const answer = await getFollowing(path, range, { idleMs, signal });
      if (answer.stream !== undefined || answer.status === 416) return answer;
      throw refused(shown, answer);
    },
  };
}

/** The answer of the server that has the file, behind all redirects. */
async function getFollowing(
  path: string,
  range: string | undefined,
  options: { idleMs?: number | undefined; signal?: AbortSignal | undefined } = {},
): Promise<HttpAnswer> {
  const attempt = `Cannot read ${shownPath(path)}`;
  let url = urlOf(path);
  for (let redirects = 0; ; redirects += 1) {
    const target = url;
    const answer = await send(() => ({ method: "GET", url: target, headers: range === undefined ? {} : { range } }), {
      ...options,
      attempt,
      isStreamed: true,
    });
    const { location } = answer.headers;
    if (answer.status < 300 || answer.status >= 400 || location === undefined) return answer;
    if (redirects === REDIRECTS_MAX) throw new StorageError(`${attempt}: it is redirected more than ${REDIRECTS_MAX} times`);
    if (!URL.canParse(location, target.href)) throw new StorageError(`${attempt}: it is redirected to what is no URL`);
    url = new URL(location, target);
    // Credentials are for the server that the user named; a redirect names no others.
    if (url.origin === target.origin) Object.assign(url, { username: target.username, password: target.password });
    if (url.protocol !== target.protocol && url.protocol !== "https:")
      throw new StorageError(`${attempt}: it is redirected to ${shownPath(url.href)}, which is no https://`);
  }
}

interface Probe {
  readonly answer: HttpAnswer;
  readonly hasRanges: boolean;
  /** Undefined where the server does not say it. */
  readonly size: number | undefined;
}

/** Asks for the first byte, to learn of the whole. Undefined where there is no such file. */
async function probe(path: string): Promise<Probe | undefined> {
  const answer = await getFollowing(path, "bytes=0-0");
  const { status, headers } = answer;
  if (status === 404 || status === 410) return undefined;
  // A body of one byte is read, so that the connection serves again; a whole file is not.
  if (status === 206) answer.stream?.resume();
  else answer.stream?.destroy();
  const total = /\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1];
  if (status === 416) return { answer, hasRanges: true, size: 0 };
  if (status === 206 && total !== undefined) return { answer, hasRanges: true, size: Number(total) };
  const length = headers["content-length"];
  if (status < 300) return { answer, hasRanges: false, size: length === undefined ? undefined : Number(length) };
  throw refused(shownPath(path), answer);
}

async function openBytes(path: string): Promise<FileBytes> {
  const shown = shownPath(path);
  const found = await probe(path);
  if (found === undefined) throw new StorageError(`Cannot read ${shown}: there is no such file`);
  if (found.hasRanges) return new RemoteBytes(remoteFile(path), versionOf(found.answer), found.size as number);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of readRemote(remoteFile(path))) {
    total += chunk.length;
    if (total > UNRANGED_FILE_BYTES_MAX)
      throw new StorageError(
        `Cannot read ${shown} by parts: its server gives no ranges, and it has more than ${UNRANGED_FILE_BYTES_MAX} bytes`,
        {
          hint: "download it first",
        },
      );
    chunks.push(chunk);
  }
  const whole = new Blob(chunks);
  return {
    sizeBytes: total,
    read: (start, end) => whole.slice(start, end).arrayBuffer(),
    [Symbol.asyncDispose]: async () => {},
  };
}

const IN_WORDS: Readonly<Record<number, string>> = {
  401: "the server wants other credentials",
  403: "the server forbids it",
  404: "there is no such file",
  410: "there is no such file any more",
};

function refused(shown: string, { status }: HttpAnswer): StorageError {
  const words = `Cannot read ${shown}: ${IN_WORDS[status] ?? "the server refuses"} (status ${status})`;
  if (status !== 401 && status !== 403) return new StorageError(words);
  return new StorageError(words, {
    hint: "a signed URL is valid for a time only; a user and a password go before the host: https://user:password@host/",
  });
}
