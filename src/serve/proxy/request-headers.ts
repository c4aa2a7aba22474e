/**
 * Reads the headers that a front needs before it routes a request: id, host, model, session and length of the body. Reads the request's target in all its forms.
 *
 * Rejects requests with an invalid host or with two hosts. Turns heads of HTTP/2 into those of HTTP/1.1, so that nothing behind a front knows the version.
 * Used by all fronts. Pure, but for the ids that it makes.
 */
import { randomBytes } from "node:crypto";
import { isSessionHeader } from "../routing/sessions.ts";

export const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[0-9a-fA-F:.]+\])(?::\d{0,5})?$/;
const MODEL_HEADER = "serve_multiplexed_model_id";
const MODEL_HEADER_AS_WELL = "serve-multiplexed-model-id";

export interface ReadHeaders {
  /** As the client sent them, with an id. */
  readonly headers: string[];
  requestId: string;
  host: string;
  modelId: string;
  sessionId: string;
  length: number | undefined;
  isChunked: boolean;
  /** The reason to refuse the request; undefined if it is valid. */
  mistake: string | undefined;
}

const idPrefix = randomBytes(6).toString("hex");
let idNumber = 0;

export function newRequestId(): string {
  idNumber += 1;
  return `${idPrefix}-${idNumber.toString(36)}`;
}

/**
 * Names are compared by their length first: most headers are none of these.
 *
 * @param raw gets the id at its end where it has none
 */
export function readHeaders(raw: string[]): ReadHeaders {
  const read: ReadHeaders = {
    headers: raw,
    requestId: "",
    host: "",
    modelId: "",
    sessionId: "",
    length: undefined,
    isChunked: false,
    mistake: undefined,
  };
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const value = raw[index + 1] as string;
    switch (name.length) {
      case 4:
        if (name.toLowerCase() !== "host") break;
        if (read.host !== "") read.mistake = "it has two host headers";
        read.host = value;
        break;
      case 12:
        if (isSessionHeader(name)) read.sessionId = value;
        else if (name.toLowerCase() === "x-request-id" && REQUEST_ID.test(value)) read.requestId = value;
        break;
      case 14:
        if (name.toLowerCase() === "content-length") read.length = Number(value);
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") read.isChunked = true;
        break;
      case MODEL_HEADER.length: {
        const lower = name.toLowerCase();
        if (lower === MODEL_HEADER || lower === MODEL_HEADER_AS_WELL) read.modelId = value;
        break;
      }
    }
  }
  if (read.host === "") read.host = "localhost";
  else if (!HOST.test(read.host)) read.mistake = "its host header names no host";
  if (read.requestId === "") {
    read.requestId = newRequestId();
    raw.push("x-request-id", read.requestId);
  }
  return read;
}

/** The path and query of a target, which names a host as well where the client took this for a forward proxy; undefined where it is neither. */
export function originForm(target: string): { path: string; host: string | undefined } | undefined {
  if (target.startsWith("/")) return { path: target, host: undefined };
  const match = /^https?:\/\/([^/?#]+)(.*)$/i.exec(target);
  if (match === null || !HOST.test(match[1] as string)) return undefined;
  const rest = match[2] as string;
  return { host: match[1], path: rest.startsWith("/") ? rest : `/${rest}` };
}

/** The headers of a request of HTTP/2 as those of HTTP/1.1 would be; what is left out says how the stream itself is. */
export interface Http2Head {
  readonly method: string;
  readonly target: string;
  /** Names and values in turn, the host first. */
  readonly headers: string[];
  readonly expectsContinue: boolean;
  /** The reason to refuse the request. */
  readonly mistake: string | undefined;
}

/**
 * Pseudo-headers become the method, the target and the host. Cookies, which HTTP/2 may send one by one, become one header again (RFC 9113, 8.2.3).
 *
 * @param raw names and values in turn, as they came
 */
export function readHttp2Head(raw: readonly string[]): Http2Head {
  const pseudo = new Map<string, string>();
  const headers: string[] = [];
  const cookies: string[] = [];
  let host: string | undefined;
  let expectsContinue = false;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const value = raw[index + 1] as string;
    if (name.startsWith(":")) pseudo.set(name, value);
    else if (name === "host") host = value;
    else if (name === "cookie") cookies.push(value);
    else if (name === "expect") expectsContinue = value.toLowerCase() === "100-continue";
    else headers.push(name, value);
  }
  if (cookies.length > 0) headers.push("cookie", cookies.join("; "));
  const authority = pseudo.get(":authority");
  const named = authority ?? host;
  if (named !== undefined) headers.unshift("host", named);
  const method = pseudo.get(":method") ?? "";
  const target = pseudo.get(":path") ?? "";
  let mistake: string | undefined;
  if (method === "CONNECT" || target === "") mistake = "its target is no path";
  else if (named === undefined) mistake = "it names no host";
  else if (host !== undefined && host !== named) mistake = "it names two hosts";
  return { method, target, headers, expectsContinue, mistake };
}
