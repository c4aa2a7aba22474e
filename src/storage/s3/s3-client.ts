/**
 * Signed requests to S3 and compatible servers, and their refusals in words.
 *
 * The endpoint is AWS's of the region, with the bucket in the host's name, or `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, with the bucket in the path. `aws4fetch` signs; the
 * hash of each body is signed with it, so a body that was damaged on its way is refused.
 */
import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import { StorageError } from "../errors.ts";
import { type HttpAnswer, type HttpRequest, send } from "../remote/http-requests.ts";
import { findCredentials } from "./s3-credentials.ts";
import { element } from "./s3-xml.ts";

/** Bucket and key of a path of S3. The key of a bucket's root is empty. */
export interface S3Place {
  readonly bucket: string;
  readonly key: string;
  /** Requests are not signed: `s3://anonymous@bucket/key`. */
  readonly isAnonymous: boolean;
}

const PATH = /^s3a?:\/\/(?:([^/]*)@)?([^/]*)(?:\/(.*))?$/is;
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;

/** @throws StorageError for a path without a bucket, or a key that no URL can have */
export function placeOf(path: string): S3Place {
  const [, user, bucket = "", key = ""] = PATH.exec(path) ?? [];
  const isAnonymous = user?.toLowerCase() === "anonymous";
  if (user !== undefined && !isAnonymous)
    throw new StorageError(`Cannot open s3://${bucket}/${key}: a path of S3 holds no credentials`, {
      hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a public bucket is s3://anonymous@bucket/key",
    });
  if (!BUCKET.test(bucket))
    throw new StorageError(`Cannot open s3://${bucket}/${key}: ${JSON.stringify(bucket)} is no name of a bucket`, {
      hint: "a path of S3 is s3://bucket/key",
    });
  if (key.split("/").some((part) => part === "." || part === ".."))
    throw new StorageError(`Cannot open s3://${bucket}/${key}: a key with the part "." or ".." cannot be requested`);
  return { bucket, key, isAnonymous };
}

export function pathOf({ bucket, key, isAnonymous }: S3Place): string {
  return `s3://${isAnonymous ? "anonymous@" : ""}${bucket}${key === "" ? "" : `/${key}`}`;
}

/** A path as messages have it. */
export function shownPlace({ bucket, key }: S3Place): string {
  return `s3://${bucket}/${key}`;
}

export interface S3Request extends Omit<HttpRequest, "url"> {
  readonly place: S3Place;
  readonly query?: Readonly<Record<string, string>>;
  /** The operation in words, with the path. */
  readonly attempt: string;
  readonly isStreamed?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the answer with any status, after retries of transient failures. */
export async function sendToS3({
  place,
  query = {},
  method,
  headers = {},
  body,
  attempt,
  isStreamed = false,
  signal,
}: S3Request): Promise<HttpAnswer> {
  const region = regionOfRequests();
  const url = s3Url(place, query, region);
  const sha256 = createHash("sha256")
    .update(body ?? "")
    .digest("hex");
  const prepare = async (): Promise<HttpRequest> => {
    if (place.isAnonymous) return { method, url, headers, ...(body === undefined ? {} : { body }) };
    const credentials = await findCredentials(shownPlace(place));
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, "x-amz-content-sha256": sha256 },
      service: "s3",
      region,
      accessKeyId: credentials.accessKeyId,
      secretAccessKey: credentials.secretAccessKey,
      ...(credentials.sessionToken === undefined ? {} : { sessionToken: credentials.sessionToken }),
    });
    const signed = await signer.sign();
    return { method, url, headers: Object.fromEntries(signed.headers), ...(body === undefined ? {} : { body }) };
  };
  return send(prepare, { attempt, isStreamed, signal });
}

/** The answer to a request that has to succeed. */
export async function succeedAtS3(request: S3Request): Promise<HttpAnswer> {
  const answer = await sendToS3(request);
  // A copy and a completion answer 200 before they are done, and say in the body that they failed.
  if (answer.status >= 300 || answer.text.includes("<Error>")) throw refusal(request, answer);
  return answer;
}

function regionOfRequests(): string {
  return process.env["AWS_REGION"] || process.env["AWS_DEFAULT_REGION"] || "us-east-1";
}

/** URL of a request for a place. */
export function s3Url({ bucket, key }: S3Place, query: Readonly<Record<string, string>>, region: string): URL {
  const endpoint = process.env["AWS_ENDPOINT_URL_S3"] || process.env["AWS_ENDPOINT_URL"] || undefined;
  if (endpoint !== undefined && !/^https?:\/\/[^/@?#]+\/?$/i.test(endpoint))
    throw new StorageError("AWS_ENDPOINT_URL is no endpoint of S3", { hint: "it is a URL without a path, such as http://localhost:9000" });
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  // A name with dots does not fit AWS's certificate, which has one level below its own name.
  const isInPath = endpoint !== undefined || bucket.includes(".");
  const base = endpoint?.replace(/\/$/, "") ?? `https://${isInPath ? host : `${bucket}.${host}`}`;
  const search = Object.entries(query).map(([name, value]) => `${name}=${encoded(value)}`);
  const path = `${isInPath ? `/${bucket}` : ""}/${encodedKey(key)}`;
  return new URL(`${base}${path}${search.length === 0 ? "" : `?${search.join("&")}`}`);
}

/** As signatures want it: everything but letters, digits and `-._~` is escaped. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export function encodedKey(key: string): string {
  return key.split("/").map(encoded).join("/");
}

// ---------------------------------------------------------------------------------------------------------------------
// Refusals

const IN_WORDS: Readonly<Record<string, readonly [words: string, hint: string]>> = {
  NoSuchBucket: ["there is no such bucket", "see whether its name is right, and AWS_ENDPOINT_URL where it is not at AWS"],
  NoSuchKey: ["there is no such object", "list its folder to see what is there"],
  InvalidAccessKeyId: ["the access key is unknown", "see whether AWS_ACCESS_KEY_ID belongs to this endpoint"],
  SignatureDoesNotMatch: ["the signature is wrong", "see whether AWS_SECRET_ACCESS_KEY belongs to AWS_ACCESS_KEY_ID"],
  ExpiredToken: ["the credentials have expired", "get new ones, with their AWS_SESSION_TOKEN"],
  InvalidToken: ["the session token is wrong", "AWS_SESSION_TOKEN belongs to the two keys that came with it"],
  RequestTimeTooSkewed: ["the clock of this machine is wrong", "set it; signatures are valid for minutes"],
  PreconditionFailed: ["it was changed meanwhile", "run again once nobody writes to it"],
};

/** The error of an answer that is no success. */
export function refusal({ attempt, place }: Pick<S3Request, "attempt" | "place">, { status, text, headers }: HttpAnswer): StorageError {
  const code = element(text, "Code") ?? (status === 404 ? (place.key === "" ? "NoSuchBucket" : "NoSuchKey") : undefined);
  const region = headers["x-amz-bucket-region"] ?? element(text, "Region");
  const isElsewhere = region !== undefined && region !== regionOfRequests() && [301, 307, 400, 403].includes(status);
  if (isElsewhere)
    return new StorageError(`${attempt}: the bucket is in the region ${String(region)}, and the request was for ${regionOfRequests()}`, {
      hint: `set AWS_REGION=${String(region)}`,
    });
  const known = code === undefined ? undefined : IN_WORDS[code];
  if (known !== undefined) return new StorageError(`${attempt}: ${known[0]} (${code})`, { hint: known[1] });
  if (status === 403)
    return new StorageError(`${attempt}: these credentials may not do that (${code ?? "403"})`, {
      hint: "reading needs s3:GetObject and s3:ListBucket, writing s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload; without s3:ListBucket an object that is not there is forbidden, too",
    });
  const said = element(text, "Message");
  return new StorageError(
    `${attempt}: the server refuses (${code ?? `status ${status}`})${said === undefined ? "" : `: ${said.slice(0, 300)}`}`,
  );
}
