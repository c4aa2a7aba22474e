/**
 * The HTTP server of the REST API and of `/metrics`: routes, statuses and bodies are Ray's, so that Ray's clients drive it.
 *
 * Decides who may ask: a client that shows the token, and never a web page, as browsers send an `Origin`. The ports decide the answers.
 * Owned by the controller, which opens it again after a restart.
 */
import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf } from "../../core/internal.ts";
import { API_BODY_WITHIN_MS, CONFIG_BYTES_MAX, LINGER_MS } from "../limits.ts";
import { listenAt } from "../listening.ts";
import type { ResolvedApiOptions } from "./api-options.ts";

/** Functions of the controller that the API calls. */
interface ApiPorts {
  /** Ray's `ServeInstanceDetails`. @param source of applications; undefined: all */
  details(source: string | undefined): Promise<object>;
  /**
   * Takes over a configuration, and does not wait for its applications. @throws ServeConfigError, TypeError, RangeError for a wrong
   * configuration
   */
  put(config: string): Promise<void>;
  /** Ends all applications and proxies. */
  clear(): Promise<void>;
  /** Prometheus' text format. */
  metrics(): Promise<string>;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const JSON_TYPE = "application/json; charset=utf-8";
const TEXT_TYPE = "text/plain; charset=utf-8";
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
/** Version of the REST API, Ray's fourth, for which Ray's clients ask first. */
const VERSION = { version: "4", ray_version: "2.60.0", ray_commit: "shoal", session_name: "shoal" };
const SOURCES: readonly string[] = ["imperative", "declarative"];

export class ApiServer {
  readonly #options: ResolvedApiOptions;
  readonly #ports: ApiPorts;
  readonly #server: Server;

  constructor(options: ResolvedApiOptions, ports: ApiPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#server = createServer({ headersTimeout: API_BODY_WITHIN_MS, requestTimeout: API_BODY_WITHIN_MS }, (request, response) => {
      void this.#serve(request, response);
    });
  }

  /** @returns where it listens. @throws where the port is taken */
  async listen(): Promise<{ address: string; port: number }> {
    const { host, port } = this.#options;
    await listenAt(this.#server, { host, port });
    // The server ends with its process, and does not keep it alive.
    this.#server.unref();
    const { address, port: found } = this.#server.address() as AddressInfo;
    return { address: `http://${address.includes(":") ? `[${address}]` : address}:${found}`, port: found };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: Answer;
    try {
      answer = this.#refusal(request) ?? (await this.#answer(request));
    } catch (error) {
      console.error(`Cannot answer ${request.method} ${request.url?.split("?", 1)[0]}:`, error);
      answer = { status: 500, body: messageOf(error) };
    }
    if (response.destroyed) return;
    const { status, body, type = TEXT_TYPE, headers = {} } = answer;
    // The unread rest of a body would be taken for the next request.
    const end = request.complete ? {} : { connection: "close" };
    response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), ...headers, ...end });
    if (request.complete) response.end(request.method === "HEAD" ? "" : body);
    else endBehindBody(request, response, body);
  }

  #refusal({ headers }: IncomingMessage): Answer | undefined {
    const { token } = this.#options;
    if (headers.origin !== undefined) return { status: 403, body: "Cannot answer: web pages of other origins may not ask" };
    if (isToken(headers.authorization, token)) return undefined;
    const body =
      headers.authorization === undefined
        ? "Cannot answer: a token is needed: send the header `authorization: Bearer TOKEN`; `shoal serve token` prints it"
        : "Cannot answer: the token is a wrong one";
    return { status: 401, body, headers: { "www-authenticate": "Bearer" } };
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
    const method = request.method === "HEAD" ? "GET" : (request.method ?? "GET");
    switch (path.replace(/(?<=.)\/$/, "")) {
      case "/api/serve/applications":
        if (method === "GET") return await this.#details(new URLSearchParams(query).get("api_type") ?? "");
        if (method === "PUT") return await this.#put(request);
        if (method !== "DELETE") return notAllowed("GET, PUT, DELETE");
        await this.#ports.clear();
        return { status: 200, body: "" };
      case "/api/ray/version":
      case "/api/version":
        return method === "GET" ? json(VERSION) : notAllowed("GET");
      case "/metrics":
        return method === "GET" ? { status: 200, body: await this.#ports.metrics(), type: METRICS_TYPE } : notAllowed("GET");
      default:
        return { status: 404, body: "404: Not Found" };
    }
  }

  async #details(given: string): Promise<Answer> {
    const source = given.toLowerCase();
    if (source !== "" && !SOURCES.includes(source))
      return { status: 400, body: `Invalid 'api_type' value: '${given}'. Must be one of: ${SOURCES.join(", ")}` };
    return json(await this.#ports.details(source === "" ? undefined : source));
  }

  async #put(request: IncomingMessage): Promise<Answer> {
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += piece.byteLength;
      if (size > CONFIG_BYTES_MAX) return { status: 413, body: `A configuration has at most ${CONFIG_BYTES_MAX} bytes` };
      pieces.push(piece);
    }
    const text = Buffer.concat(pieces).toString("utf8");
    try {
      // The body is JSON, as with Ray; YAML would be taken, too, and be refused by every other implementation.
      JSON.parse(text);
      await this.#ports.put(text);
      return { status: 200, body: "" };
    } catch (error) {
      const isOfCaller = error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError;
      if (!isOfCaller && (error as { code?: unknown }).code !== "SERVE_CONFIG") throw error;
      const body = error instanceof SyntaxError ? `Cannot read the request's body: JSON is needed: ${error.message}` : messageOf(error);
      return { status: 400, body };
    }
  }
}

/** A connection that closes while its client still sends loses the answer. */
function endBehindBody(request: IncomingMessage, response: ServerResponse, body: string): void {
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, LINGER_MS).unref();
  response.write(body);
  request
    .on("data", () => {})
    .on("end", end)
    .on("close", end);
}

function json(value: object): Answer {
  return { status: 200, body: JSON.stringify(value), type: JSON_TYPE };
}

function notAllowed(allow: string): Answer {
  return { status: 405, body: "405: Method Not Allowed", headers: { allow } };
}

function isToken(authorization: string | undefined, token: string): boolean {
  const given = Buffer.from(/^Bearer (.+)$/i.exec(authorization ?? "")?.[1] ?? "");
  const wanted = Buffer.from(token);
  return given.byteLength === wanted.byteLength && timingSafeEqual(given, wanted);
}
