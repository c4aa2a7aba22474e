/**
 * The cluster's HTTP server: bounds, who may ask, and the answer of the route.
 *
 * Each request passes the same gates in the same order: the name of the host and the origin, a free route, the token, the route, the role.
 * So a caller without a token learns nothing about the routes. Errors become answers here, and nothing that a client sends ends the process.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { refusalOf, type OwnNames } from "./access/browser-checks.ts";
import type { HttpTokens, TokenRole } from "./access/http-token-check.ts";
import { sessionOf } from "./access/session-cookie.ts";
import { isWebSocket, sendMessages } from "./web-socket.ts";
import { HttpError, type HttpAnswer, textAnswer } from "./http-answers.ts";
import {
  COMPRESSED_FROM_BYTES,
  CONNECTIONS_MAX,
  HTTP_HEADER_BYTES_MAX,
  JSON_BYTES_MAX,
  PACKAGE_WITHIN_MS,
  REFUSED_BODY_MS,
  REQUEST_WITHIN_MS,
  REQUESTS_MAX,
  STREAMS_MAX,
  STATE_QUERIES_MAX,
} from "./limits.ts";
import type { Route, Router, RouteRequest } from "./router.ts";

interface HttpServerOptions {
  readonly router: Router;
  readonly tokens: HttpTokens;
  readonly clusterToken: string;
  readonly names: OwnNames;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Whether all that changes something is refused. Logins remain. Default: false. */
  readonly isReadOnly?: boolean;
}

interface Caller {
  readonly role: TokenRole | undefined;
  /** The browser sent the role by itself. */
  readonly isByCookie: boolean;
}

type WholeAnswer = HttpAnswer & { readonly body: string | Uint8Array };
type StreamedAnswer = HttpAnswer & { readonly body: AsyncIterable<string> };

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  #running = 0;
  #queries = 0;
  #streams = 0;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    const settings = {
      maxHeaderSize: HTTP_HEADER_BYTES_MAX,
      headersTimeout: REQUEST_WITHIN_MS,
      // A package may take long. Other bodies are bounded where they are read.
      requestTimeout: PACKAGE_WITHIN_MS,
      connectionsCheckingInterval: REQUEST_WITHIN_MS / 6,
    };
    const serve = (request: IncomingMessage, response: ServerResponse): void => void this.#serve(request, response);
    this.#server = options.tls === undefined ? createServer(settings, serve) : createTlsServer({ ...settings, ...options.tls }, serve);
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.on("clientError", refuseConnection);
    this.#server.on("upgrade", (request, socket, head) => void this.#upgrade(request, socket as Socket, head));
  }

  /** @returns the port. @throws where it is taken */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: HttpAnswer;
    if (this.#running >= REQUESTS_MAX) {
      answer = { ...textAnswer("Cannot answer: too many requests run", 503), headers: { "retry-after": "1" } };
    } else {
      this.#running += 1;
      try {
        answer = await this.#answer(request, response);
      } catch (error) {
        answer = answerOfError(error, request);
      } finally {
        this.#running -= 1;
      }
    }
    const { body, ...head } = answer;
    if (typeof body === "string" || body instanceof Uint8Array) send(request, response, { ...head, body });
    else await this.#stream(request, response, { ...head, body });
  }

  /** Sends a text as it comes, no faster than its client reads. A text that breaks off breaks the connection, so that it looks like none that ended. */
  async #stream(request: IncomingMessage, response: ServerResponse, answer: StreamedAnswer): Promise<void> {
    if (this.#streams >= STREAMS_MAX) {
      const refusal = textAnswer(`Cannot answer: ${STREAMS_MAX} long answers are being sent already`, 429);
      return send(request, response, { ...refusal, body: refusal.body as string, headers: { "retry-after": "1" } });
    }
    this.#streams += 1;
    try {
      response.writeHead(answer.status, { ...HEADERS, "content-type": answer.type, ...answer.headers });
      // A log that is followed may have nothing to send for long.
      response.flushHeaders();
      if (request.method !== "HEAD") {
        for await (const piece of answer.body) {
          if (response.destroyed) return;
          if (!response.write(piece)) await drained(response);
        }
      }
      response.end();
    } catch (error) {
      console.error(`Cannot send all of ${splitAtQuestionMark(request.url ?? "")[0]}: ${(error as Error).message}`);
      response.destroy();
    } finally {
      this.#streams -= 1;
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<HttpAnswer> {
    const { route, asked } = await this.#admit(request, signalOf(response));
    return route.isQuery === true ? await this.#asQuery(route, asked) : await route.handle(asked);
  }

  /** A request for a WebSocket passes the same gates. A route without messages answers it like any other request. */
  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const ended = new AbortController();
    socket.on("error", () => {}).on("close", () => ended.abort());
    let answer: HttpAnswer;
    try {
      const { route, asked } = await this.#admit(request, ended.signal);
      if (route.messages !== undefined && isWebSocket(request)) {
        if (this.#streams >= STREAMS_MAX) throw new HttpError(429, `Cannot answer: ${STREAMS_MAX} long answers are being sent already`);
        this.#streams += 1;
        try {
          return await sendMessages(await route.messages(asked), { request, socket, head });
        } finally {
          this.#streams -= 1;
        }
      }
      answer = await route.handle(asked);
    } catch (error) {
      answer = answerOfError(error, request);
    }
    answerRawly(socket, answer);
  }

  /** Passes a request through the gates. @throws HttpError */
  async #admit(request: IncomingMessage, signal: AbortSignal): Promise<{ route: Route; asked: RouteRequest }> {
    const { router, names, isReadOnly = false } = this.#options;
    const [path, query] = splitAtQuestionMark(request.url ?? "");
    const match = router.match(request.method, path);
    const free = match.kind === "found" && match.route.role === "free" ? match.route : undefined;
    const refusal = refusalOf(request.headers, names, free !== undefined && request.method === "GET");
    if (refusal !== undefined) throw new HttpError(403, `Cannot answer: ${refusal}`);
    const caller = await this.#callerOf(request, free !== undefined);
    if (isReadOnly && match.kind !== "found" && request.method !== "GET" && request.method !== "HEAD")
      throw new HttpError(405, "Cannot change anything: this is a history, and no cluster runs behind it", { allow: "GET" });
    if (match.kind === "none") throw new HttpError(404, "404: Not Found");
    if (match.kind === "otherMethod") throw new HttpError(405, "405: Method Not Allowed", { allow: match.methods.join(", ") });
    const { route, params } = match;
    if (route.role === "admin" && caller.role !== "admin")
      throw new HttpError(403, "Cannot do that with a token of the role view: a token of the role admin is needed");
    if (caller.isByCookie && route.method !== "GET") refuseForgery(request);
    const asked: RouteRequest = {
      params,
      query: new URLSearchParams(query),
      role: caller.role,
      host: request.headers.host ?? "",
      text: () => readText(request),
      body: request,
      json: async () => parseObject(await readText(request)),
      signal,
    };
    return { route, asked };
  }

  /** @throws HttpError 401 without a token, 403 with a wrong one */
  async #callerOf({ headers }: IncomingMessage, isFree: boolean): Promise<Caller> {
    const header = headers.authorization ?? headers["x-ray-authorization"];
    if (header !== undefined) {
      const token = /^Bearer ([\x21-\x7e]{1,1024})$/i.exec(String(header))?.[1];
      const role = token === undefined ? "wrong" : await this.#options.tokens.roleOf(token);
      if (role !== "wrong") return { role, isByCookie: false };
      if (isFree) return { role: undefined, isByCookie: false };
      throw new HttpError(403, "Cannot answer: the token is a wrong one; `shoal get-auth-token` prints the cluster's");
    }
    const role = sessionOf(headers.cookie, this.#options.clusterToken);
    if (role !== undefined && role !== "wrong") return { role, isByCookie: true };
    if (isFree) return { role: undefined, isByCookie: false };
    if (role === "wrong") throw new HttpError(403, "Cannot answer: the session has expired: log in again");
    const message = "Cannot answer: a token is needed: send the header `authorization: Bearer TOKEN`; `shoal get-auth-token` prints it";
    throw new HttpError(401, message, { "www-authenticate": "Bearer" });
  }

  async #asQuery(route: Route, asked: RouteRequest): Promise<HttpAnswer> {
    if (this.#queries >= STATE_QUERIES_MAX)
      throw new HttpError(429, `Cannot answer: ${STATE_QUERIES_MAX} questions to the cluster run already`, { "retry-after": "1" });
    this.#queries += 1;
    try {
      return await route.handle(asked);
    } finally {
      this.#queries -= 1;
    }
  }
}

/** An old browser may send the cookie with a form of another site. Such a form sends no JSON from this origin. @throws HttpError */
function refuseForgery({ headers }: IncomingMessage): void {
  if (headers.origin === undefined) throw new HttpError(403, "Cannot do that: a browser's request needs an Origin header");
  if (!/^application\/json\b/i.test(headers["content-type"] ?? ""))
    throw new HttpError(403, "Cannot do that: a browser's request needs the content type application/json");
}

function splitAtQuestionMark(url: string): [path: string, query: string] {
  const at = url.indexOf("?");
  return at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at + 1)];
}

function signalOf(response: ServerResponse): AbortSignal {
  const ended = new AbortController();
  response.on("close", () => ended.abort());
  return ended.signal;
}

async function readText(request: IncomingMessage): Promise<string> {
  const tooLarge = (): HttpError => new HttpError(413, `Cannot read the body: it has more than ${JSON_BYTES_MAX} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > JSON_BYTES_MAX) throw tooLarge();
  const pieces: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => request.destroy(), REQUEST_WITHIN_MS);
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += piece.byteLength;
      if (size > JSON_BYTES_MAX) throw tooLarge();
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(408, "Cannot read the body: its client has gone, or was too slow");
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new HttpError(400, `Cannot read the body: JSON is needed: ${(error as Error).message}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new HttpError(400, "Cannot read the body: a JSON object is needed");
}

function answerOfError(error: unknown, request: IncomingMessage): HttpAnswer {
  if (error instanceof HttpError) return { ...textAnswer(error.message, error.status), headers: error.headers };
  const { name, message } = error as Error;
  if (name === "RangeError" || name === "TypeError") return textAnswer(message, 400);
  const isOfCluster = "reason" in (error as Error);
  if (!isOfCluster) console.error(`Cannot answer ${request.method} ${splitAtQuestionMark(request.url ?? "")[0]}:`, error);
  return textAnswer(isOfCluster ? message : "Cannot answer: the server failed; its log has the cause", isOfCluster ? 503 : 500);
}

function send(request: IncomingMessage, response: ServerResponse, answer: WholeAnswer): void {
  if (response.destroyed) return;
  const { status, type, headers = {} } = answer;
  const { body, encoding } = compressed(answer, request.headers["accept-encoding"]);
  // The unread rest of a body would be taken for the next request.
  const end = request.complete ? {} : { connection: "close" };
  response.writeHead(status, {
    ...HEADERS,
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    ...headers,
    ...encoding,
    ...end,
  });
  const shown = request.method === "HEAD" ? "" : body;
  if (request.complete) response.end(shown);
  else endBehindBody(request, response, shown);
}

function compressed({ body, headers = {} }: WholeAnswer, accepted = ""): { body: string | Uint8Array; encoding: Record<string, string> } {
  if (Buffer.byteLength(body) < COMPRESSED_FROM_BYTES || !/\bgzip\b/.test(accepted) || "content-encoding" in headers)
    return { body, encoding: {} };
  return { body: gzipSync(body, { level: 1 }), encoding: { "content-encoding": "gzip", vary: "accept-encoding" } };
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off("drain", end).off("close", end);
      resolve();
    };
    response.on("drain", end).on("close", end);
  });
}

/** Answers a request whose connection Node has given away. */
function answerRawly(socket: Socket, { status, type, body, headers = {} }: HttpAnswer): void {
  const text = typeof body === "string" || body instanceof Uint8Array ? body : "";
  const all = { ...HEADERS, "content-type": type, "content-length": Buffer.byteLength(text), connection: "close", ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${head.join("")}\r\n`);
  socket.end(text);
}

/** A connection that closes while its client still sends loses the answer. */
function endBehindBody(request: IncomingMessage, response: ServerResponse, body: string | Uint8Array): void {
  const end = (): void => {
    clearTimeout(timer);
    response.end();
    request.socket.destroySoon();
  };
  const timer = setTimeout(end, REFUSED_BODY_MS).unref();
  response.write(body);
  request
    .on("data", () => {})
    .on("end", end)
    .on("close", end);
}

/** Bytes that are no request. */
function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Socket | { writable: boolean; end(text?: string): unknown; destroy(): unknown },
): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "431 Request Header Fields Too Large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "408 Request Timeout"
        : "400 Bad Request";
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
