/**
 * The files of S3. A folder is the common beginning of keys up to a slash.
 *
 * S3 renames nothing: the server copies a staged object to its place, and the original is removed with its staging folder. Copies appear
 * whole, so a writer that dies between two leaves whole objects, and hidden ones.
 */
import { createHash } from "node:crypto";
import { StorageError } from "../errors.ts";
import type { FileSystem, ListedFile, StagedFile } from "../file-system.ts";
import { expandBraces, hasWildcard, isHidden, keyMatcher } from "../listing/globs.ts";
import { COPY_BYTES_MAX, REMOTE_REQUESTS_AT_A_TIME, REMOVED_KEYS_MAX } from "../limits.ts";
import { readRemote, RemoteBytes, type RemoteFile, versionOf } from "../remote/remote-file.ts";
import { encodedKey, pathOf, placeOf, refusal, type S3Place, type S3Request, sendToS3, shownPlace, succeedAtS3 } from "./s3-client.ts";
import { abortUpload, beginUpload, completeUpload, S3Sink } from "./s3-upload.ts";
import { element, elements, escaped } from "./s3-xml.ts";

export const S3_FILES: FileSystem = {
  fullPath: (path) => pathOf(withoutSlash(placeOf(path))),
  list: (path) => filesOf(placeOf(path)),
  listAll: (folder) => toArray(allFilesIn(withoutSlash(placeOf(folder)))),
  async hasFolder(path) {
    const folder = withoutSlash(placeOf(path));
    for await (const _ of objectsWith(folder, folderPrefix(folder))) return true;
    return false;
  },
  names: (folder) => namesIn(withoutSlash(placeOf(folder))),
  renameFolder: undefined,
  read: (path) => readRemote(remoteFile(placeOf(path))),
  async openBytes(path) {
    const place = placeOf(path);
    const request: S3Request = { method: "HEAD", place, attempt: `Cannot read ${shownPlace(place)}` };
    const answer = await succeedAtS3(request);
    return new RemoteBytes(remoteFile(place), versionOf(answer), Number(answer.headers["content-length"]));
  },
  makeFolder: () => Promise.resolve(),
  openSink: (path) => Promise.resolve(new S3Sink(placeOf(path))),
  publish,
  remove: (paths) => removeObjects(paths.map(placeOf)),
  removeFolder,
};

function withoutSlash(place: S3Place): S3Place {
  return { ...place, key: place.key.replace(/\/+$/, "") };
}

function remoteFile(place: S3Place): RemoteFile {
  const request: S3Request = { method: "GET", place, attempt: `Cannot read ${shownPlace(place)}`, isStreamed: true };
  return {
    shown: shownPlace(place),
    async get(range, signal) {
      const answer = await sendToS3({ ...request, headers: range === undefined ? {} : { range }, signal });
      if (answer.stream !== undefined || answer.status === 416) return answer;
      throw refusal(request, answer);
    },
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// Listing

async function filesOf(place: S3Place): Promise<ListedFile[]> {
  // An object of this very key takes precedence over the key as a pattern.
  const object = place.key === "" || place.key.endsWith("/") ? undefined : await objectAt(place);
  if (object !== undefined) return [object];
  if (!hasWildcard(place.key)) return toArray(filesIn(withoutSlash(place)));
  const files = new Map<string, ListedFile>();
  for (const pattern of expandBraces(place.key)) {
    const matches = keyMatcher(pattern);
    const prefix = pattern.slice(0, pattern.search(/[*?[]|$/));
    for await (const { key, sizeBytes } of objectsWith(place, prefix)) {
      const path = pathOf({ ...place, key });
      if (matches(key)) files.set(path, { path, sizeBytes });
    }
  }
  return [...files.values()];
}

/** The object of a key; undefined if there is none. */
async function objectAt(place: S3Place): Promise<ListedFile | undefined> {
  const request: S3Request = { method: "HEAD", place, attempt: `Cannot read ${shownPlace(place)}` };
  const answer = await sendToS3(request);
  if (answer.status === 404) return undefined;
  if (answer.status >= 300) throw refusal(request, answer);
  return { path: pathOf(place), sizeBytes: Number(answer.headers["content-length"]) };
}

async function* filesIn(folder: S3Place): AsyncGenerator<ListedFile, void, undefined> {
  const prefix = folderPrefix(folder);
  for await (const { key, sizeBytes } of objectsWith(folder, prefix))
    if (!key.slice(prefix.length).split("/").some(isHidden)) yield { path: pathOf({ ...folder, key }), sizeBytes };
}

async function* allFilesIn(folder: S3Place): AsyncGenerator<ListedFile, void, undefined> {
  for await (const { key, sizeBytes } of objectsWith(folder, folderPrefix(folder))) yield { path: pathOf({ ...folder, key }), sizeBytes };
}

async function namesIn(folder: S3Place): Promise<{ files: string[]; folders: string[] }> {
  const prefix = folderPrefix(folder);
  const files: string[] = [];
  const folders: string[] = [];
  for await (const page of pagesOf(folder, { prefix, delimiter: "/" })) {
    for (const key of keysOf(page, "Contents", "Key")) if (key.length > prefix.length) files.push(key.slice(prefix.length));
    for (const key of keysOf(page, "CommonPrefixes", "Prefix")) folders.push(key.slice(prefix.length, -1));
  }
  return { files, folders };
}

function folderPrefix({ key }: S3Place): string {
  return key === "" ? "" : `${key}/`;
}

interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
}

/** All objects with this prefix, without the empty ones that represent folders. */
async function* objectsWith(place: S3Place, prefix: string): AsyncGenerator<ListedObject, void, undefined> {
  for await (const page of pagesOf(place, { prefix })) {
    const sizes = elements(page.text, "Contents").map((object) => Number(element(object, "Size")));
    for (const [i, key] of keysOf(page, "Contents", "Key").entries()) if (!key.endsWith("/")) yield { key, sizeBytes: sizes[i] as number };
  }
}

/** A page of a list, in XML. */
interface ListPage {
  readonly text: string;
  readonly isEncoded: boolean;
}

async function* pagesOf(
  place: S3Place,
  { prefix, ...others }: { readonly prefix: string; readonly delimiter?: string },
): AsyncGenerator<ListPage, void, undefined> {
  const bucket = { ...place, key: "" };
  const attempt = `Cannot list ${shownPlace({ ...place, key: prefix })}`;
  for (let token: string | undefined; ; ) {
    const query = {
      "list-type": "2",
      "encoding-type": "url",
      prefix,
      ...others,
      ...(token === undefined ? {} : { "continuation-token": token }),
    };
    const { text } = await succeedAtS3({ method: "GET", place: bucket, query, attempt });
    yield { text, isEncoded: element(text, "EncodingType") === "url" };
    const next = element(text, "NextContinuationToken");
    if (element(text, "IsTruncated") !== "true") return;
    if (next === undefined || next === token) throw new StorageError(`${attempt}: the server gives no next page`);
    token = next;
  }
}

/** The keys that the elements of a page name. */
function keysOf({ text, isEncoded }: ListPage, each: string, name: string): string[] {
  return elements(text, each).map((item) => {
    const listed = element(item, name) ?? "";
    return isEncoded ? decoded(listed) : listed;
  });
}

function decoded(listed: string): string {
  try {
    return decodeURIComponent(listed.replace(/\+/g, " "));
  } catch {
    return listed;
  }
}

async function toArray<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

// ---------------------------------------------------------------------------------------------------------------------
// Copying and removing

async function publish({ from, to, sizeBytes }: StagedFile): Promise<void> {
  const [source, place] = [placeOf(from), placeOf(to)];
  const attempt = `Cannot copy ${shownPlace(source)} to ${shownPlace(place)}`;
  const headers = { "x-amz-copy-source": `/${source.bucket}/${encodedKey(source.key)}` };
  if (sizeBytes <= COPY_BYTES_MAX) {
    await succeedAtS3({ method: "PUT", place, headers, attempt });
    return;
  }
  const uploadId = await beginUpload(place);
  try {
    const tags: string[] = [];
    for (let start = 0; start < sizeBytes; start += COPY_BYTES_MAX) {
      const range = `bytes=${start}-${Math.min(start + COPY_BYTES_MAX, sizeBytes) - 1}`;
      const query = { partNumber: `${tags.length + 1}`, uploadId };
      const { text } = await succeedAtS3({
        method: "PUT",
        place,
        query,
        headers: { ...headers, "x-amz-copy-source-range": range },
        attempt,
      });
      tags.push(element(text, "ETag") ?? "");
    }
    await completeUpload(place, uploadId, tags);
  } catch (error) {
    await abortUpload(place, uploadId).catch(() => {});
    throw error;
  }
}

/** Removes objects of one bucket. One that is not there is no error. */
async function removeObjects(places: readonly S3Place[]): Promise<void> {
  for (let i = 0; i < places.length; i += REMOVED_KEYS_MAX) {
    const some = places.slice(i, i + REMOVED_KEYS_MAX);
    const place = { ...(some[0] as S3Place), key: "" };
    const keys = some.map(({ key }) => `<Object><Key>${escaped(key)}</Key></Object>`);
    const body = Buffer.from(`<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${keys.join("")}</Delete>`);
    const headers = { "content-md5": createHash("md5").update(body).digest("base64"), "content-type": "application/xml" };
    const attempt = `Cannot remove objects of s3://${place.bucket}`;
    const answer = await sendToS3({ method: "POST", place, query: { delete: "" }, headers, body, attempt });
    const [failed] = elements(answer.text, "Error");
    const name = failed === undefined ? undefined : element(failed, "Key");
    if (answer.status >= 300 || failed !== undefined)
      throw refusal(
        { attempt: name === undefined ? attempt : `Cannot remove s3://${place.bucket}/${name}`, place },
        { ...answer, status: answer.status < 300 ? 403 : answer.status },
      );
  }
}

async function removeFolder(path: string): Promise<void> {
  const folder = withoutSlash(placeOf(path));
  const prefix = folderPrefix(folder);
  if (prefix === "") throw new StorageError(`Cannot remove ${shownPlace(folder)}: it is a whole bucket`);
  const places = (await toArray(objectsWith(folder, prefix))).map(({ key }) => ({ ...folder, key }));
  await removeObjects(places);
  await abortUploadsBelow(folder, prefix);
}

/**
 * Aborts uploads that a killed process has left, as far as the server allows. The rest is in no list, and a rule of the bucket removes it.
 */
async function abortUploadsBelow(folder: S3Place, prefix: string): Promise<void> {
  const attempt = `Cannot list the uploads to ${shownPlace(folder)}`;
  const request: S3Request = { method: "GET", place: { ...folder, key: "" }, query: { uploads: "", prefix }, attempt };
  const answer = await sendToS3(request).catch(() => undefined);
  const uploads = elements(answer?.text ?? "", "Upload").map((upload) => ({
    key: element(upload, "Key") ?? "",
    id: element(upload, "UploadId") ?? "",
  }));
  const below = uploads.filter(({ key }) => key.startsWith(prefix));
  for (let i = 0; i < below.length; i += REMOTE_REQUESTS_AT_A_TIME) {
    const some = below.slice(i, i + REMOTE_REQUESTS_AT_A_TIME);
    await Promise.all(some.map(({ key, id }) => abortUpload({ ...folder, key }, id).catch(() => {})));
  }
}
