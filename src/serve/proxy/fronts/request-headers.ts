/**
 * Reads the headers that a front needs before it routes a request: id, host, model, session and length of the body. Reads the request's target in all its forms.
 *
 * Rejects requests with an invalid host or with two hosts. Turns heads of HTTP/2 into those of HTTP/1.1, so that nothing behind a front knows the version.
 * Used by all fronts. Pure, but for the ids that it makes.
 */
import { randomBytes } from "node:crypto";
import { isSessionHeader } from "../../routing/sessions.ts";

export const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[0-9a-fA-F:.]+\])(?::\d{0,5})?$/;
const MODEL_HEADER = "serve_multiplexed_model_id";
export const FOREIGN_HOST = "its host is none that allowedHosts of httpOptions names";
export const PREFIX_HEADER = "x-forwarded-prefix";
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
 * Names are compared by their length first: most headers are none of these. A client's own `x-forwarded-prefix` is taken out: the proxy alone knows where an application is.
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
      case PREFIX_HEADER.length:
        if (name.toLowerCase() !== PREFIX_HEADER) break;
        raw.splice(index, 2);
        index -= 2;
        break;
      case MODEL_HEADER.length: {
        const lower = name.toLowerCase();
        if (lower === MODEL_HEADER || lower === MODEL_HEADER_AS_WELL) read.modelId = value;
        break;
      }
    }
  }
  if (read.host === "") read.host = "localhost";
  else if (!isHost(read.host)) read.mistake = "its host header names no host";
  if (read.requestId === "") {
    read.requestId = newRequestId();
    raw.push("x-request-id", read.requestId);
  }
  return read;
}

/** The host that was found valid last: most clients name the same. */
let lastHost = "";

/** Whether a URL can have the host: `a:99999`, `1.2.3.256` and `a%zz` look like hosts and are none. */
function isHost(host: string): boolean {
  if (host === lastHost) return true;
  if (!HOST.test(host) || !URL.canParse(`http://${host}`)) return false;
  lastHost = host;
  return true;
}

/** Paths and queries that a URL leaves as they are: no dot segment, plain or escaped, and nothing to escape. */
const NORMAL = /^(?!.*(?:\/\.|\/%2e))[A-Za-z0-9\-._~!$&()*+,;=:@/%?[\]]+$/i;

/**
 * Reads the target of a request once, so that route, application, log and everything behind them see the same path: dot segments are resolved as `new URL` does it.
 *
 * A target may name a host as well, where the client took this for a forward proxy: then that host is the request's, and replaces the one of its header (RFC 9112, 3.2.2).
 *
 * @param read gets the host of the target
 * @returns path and query in their normal form; undefined for an invalid path
 */
export function readTarget(target: string, read: ReadHeaders): string | undefined {
  if (target.startsWith("/")) return normalPath(target);
  const match = /^https?:\/\/([^/?#]+)(.*)$/i.exec(target);
  const [, host, rest = ""] = match ?? [];
  if (host === undefined || !isHost(host)) return undefined;
  read.host = host;
  const index = read.headers.findIndex((name, place) => place % 2 === 0 && name.toLowerCase() === "host");
  if (index < 0) read.headers.unshift("host", host);
  else read.headers[index + 1] = host;
  return normalPath(rest.startsWith("/") ? rest : `/${rest}`);
}

function normalPath(path: string): string | undefined {
  if (NORMAL.test(path)) return path;
  try {
    const { pathname, search } = new URL(`http://h${path}`);
    return pathname + search;
  } catch {
    return undefined;
  }
}

/** The headers of an HTTP/2 request in the form of HTTP/1.1, without those of the stream itself. */
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
