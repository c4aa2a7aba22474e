/**
 * Writes an object of S3, which appears when it is complete: a small one by one request, a large one by an upload in parts that is
 * completed at the end.
 *
 * Parts are sent while more is written, a few at a time. An upload that fails is aborted; one whose process is killed leaves parts that no list shows, until
 * its staging folder is removed or a rule of the bucket (`AbortIncompleteMultipartUpload`) does it.
 */
import type { FileSink } from "../file-system.ts";
import { UPLOAD_PART_BYTES, UPLOAD_PARTS_AT_A_TIME, UPLOAD_PARTS_OF_A_SIZE } from "../limits.ts";
import { refusal, type S3Place, type S3Request, sendToS3, shownPlace, succeedAtS3 } from "./s3-client.ts";
import { element, escaped } from "./s3-xml.ts";

export class S3Sink implements FileSink {
  readonly #place: S3Place;
  readonly #attempt: string;
  #part = Buffer.alloc(0);
  #filled = 0;
  #uploadId: string | undefined;
  /** By the numbers of the parts, from 0. */
  readonly #tags: string[] = [];
  #partCount = 0;
  readonly #underWay = new Set<Promise<void>>();
  #failure: unknown;

  constructor(place: S3Place) {
    this.#place = place;
    this.#attempt = `Cannot write ${shownPlace(place)}`;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const taken = Math.min(bytes.length - at, this.#partBytes - this.#filled);
      this.#reserve(taken);
      this.#part.set(bytes.subarray(at, at + taken), this.#filled);
      this.#filled += taken;
      at += taken;
      if (this.#filled === this.#partBytes) await this.#sendPart();
    }
  }

  async commit(): Promise<void> {
    if (this.#uploadId === undefined) {
      await this.#succeed({ method: "PUT", body: this.#part.subarray(0, this.#filled) });
      return;
    }
    if (this.#filled > 0) await this.#sendPart();
    await Promise.all(this.#underWay);
    this.#throwFailure();
    await completeUpload(this.#place, this.#uploadId, this.#tags);
    this.#uploadId = undefined;
  }

  async abort(): Promise<void> {
    this.#part = Buffer.alloc(0);
    await Promise.all(this.#underWay);
    // The caller reports the first failure. Remaining parts are in no list, and are dropped like those of a killed process.
    if (this.#uploadId !== undefined) await abortUpload(this.#place, this.#uploadId).catch(() => {});
    this.#uploadId = undefined;
  }

  get #partBytes(): number {
    return UPLOAD_PART_BYTES * 2 ** Math.floor(this.#partCount / UPLOAD_PARTS_OF_A_SIZE);
  }

  /** Room for more bytes of the part. A small file takes little memory. */
  #reserve(more: number): void {
    const needed = this.#filled + more;
    if (needed <= this.#part.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(this.#partBytes, Math.max(needed, 2 * this.#part.length)));
    grown.set(this.#part.subarray(0, this.#filled));
    this.#part = grown;
  }

  /** Begins to send the part that is full. Waits only while too many are under way. */
  async #sendPart(): Promise<void> {
    this.#uploadId ??= await beginUpload(this.#place);
    const body = this.#part.subarray(0, this.#filled);
    const number = this.#partCount;
    this.#part = Buffer.alloc(0);
    this.#filled = 0;
    this.#partCount += 1;
    const sent = this.#upload(number, body).catch((error: unknown) => {
      this.#failure ??= error;
    });
    this.#underWay.add(sent);
    void sent.then(() => this.#underWay.delete(sent));
    while (this.#underWay.size >= UPLOAD_PARTS_AT_A_TIME) await Promise.race(this.#underWay);
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #upload(number: number, body: Uint8Array): Promise<void> {
    const query = { partNumber: `${number + 1}`, uploadId: this.#uploadId as string };
    const { headers } = await this.#succeed({ method: "PUT", query, body });
    this.#tags[number] = headers.etag ?? "";
  }

  #succeed(request: Omit<S3Request, "place" | "attempt">): ReturnType<typeof succeedAtS3> {
    return succeedAtS3({ ...request, place: this.#place, attempt: this.#attempt });
  }
}

/** @returns the upload's id */
export async function beginUpload(place: S3Place): Promise<string> {
  const request: S3Request = { method: "POST", place, query: { uploads: "" }, attempt: `Cannot write ${shownPlace(place)}` };
  const answer = await succeedAtS3(request);
  const id = element(answer.text, "UploadId");
  if (id === undefined) throw refusal(request, answer);
  return id;
}

/** Makes an object of the parts. */
export async function completeUpload(place: S3Place, uploadId: string, tags: readonly string[]): Promise<void> {
  const parts = tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`);
  const attempt = `Cannot write ${shownPlace(place)}`;
  const request: S3Request = {
    method: "POST",
    place,
    query: { uploadId },
    body: Buffer.from(
      `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`,
    ),
    attempt,
  };
  const answer = await sendToS3(request);
  if (answer.status < 300 && !answer.text.includes("<Error>")) return;
  if (element(answer.text, "Code") === "NoSuchUpload") {
    // The first attempt may have succeeded with a lost answer. The tag of such an object ends with the number of parts.
    const found = await sendToS3({ method: "HEAD", place, attempt });
    if (found.status < 300 && found.headers.etag?.endsWith(`-${tags.length}"`) === true) return;
  }
  throw refusal(request, answer);
}

/** Drops the parts. An upload that is no more is no error. */
export async function abortUpload(place: S3Place, uploadId: string): Promise<void> {
  const request: S3Request = { method: "DELETE", place, query: { uploadId }, attempt: `Cannot abort the upload of ${shownPlace(place)}` };
  const answer = await sendToS3(request);
  if (answer.status >= 300 && answer.status !== 404) throw refusal(request, answer);
}
