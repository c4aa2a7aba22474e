/**
 * Options of the HTTP proxies: where they listen and what clients may do.
 *
 * Decides the defaults, which are safe for a proxy that strangers reach: everything that a client can make the proxy hold has a limit.
 * Read by `serve.start`; the resolved options go to each proxy.
 */
import { count, custom, flag, milliseconds, oneOf, type Option, readOptions, text, timeLimit } from "../../../core/internal.ts";
import {
  ANSWER_PAUSE_MS,
  BODY_BYTES_MAX,
  BODY_PAUSE_MS,
  CLIENT_BYTES_PER_SECOND_MIN,
  DRAIN_GRACE_MS,
  HEADER_BYTES_MAX,
  HEADERS_WITHIN_MS,
  KEEP_ALIVE_MS,
  MESSAGE_BYTES_MAX,
  REQUEST_TIMEOUT_MS,
  TRANSFER_MS_MAX,
} from "../../limits.ts";
import { isPath } from "../route-table.ts";
import type { TransferLimits } from "../fronts/slow-clients.ts";
import { type ResolvedTlsOptions, tlsOption, type TlsOptions } from "./tls-options.ts";

/** `httpOptions` of `serve.start`. */
export interface HttpOptions {
  /** Default: 127.0.0.1, which nobody else reaches. */
  host?: string | undefined;
  /** Default: 8000; 0 is any that is free. */
  port?: number | undefined;
  /** Comes before the `routePrefix` of each application: a path such as "/models". Default: none. */
  rootPath?: string | undefined;
  /** Where proxies run: on every node, on one, or nowhere. Default: "everyNode". */
  location?: "everyNode" | "headOnly" | "disabled" | undefined;
  /** Proxies on each node, which share the port. Default: 1. */
  proxies?: number | undefined;
  /** Send requests to replicas of a proxy's own node as long as one there has room. Default: true. */
  preferLocalNode?: boolean | undefined;
  /** How long an answer may take, until its head has come; `Infinity`: no limit. Streams and WebSockets go on for any time behind their head. Default: 600,000. */
  requestTimeoutMs?: number | undefined;
  /** How long a connection without a request is kept. Default: 90,000. */
  keepAliveTimeoutMs?: number | undefined;
  /** The largest body of a request. Default: 1 GiB. */
  maxBodyBytes?: number | undefined;
  /** All names and values of a request's headers together. Default: 16,384. */
  maxHeaderBytes?: number | undefined;
  /** How long a client may take to send its headers. Default: 60,000. */
  headersTimeoutMs?: number | undefined;
  /** How long a client may pause in the middle of a request's body; one of up to 64 KiB has to be there whole by then. Default: 60,000. */
  bodyTimeoutMs?: number | undefined;
  /** Longest pause of a client in reading its answer, before it is cut off. Default: 60,000. */
  answerTimeoutMs?: number | undefined;
  /** Time that a proxy waits for a client's body in all, the time of the application not counted. Default: 3,600,000. */
  bodyTotalTimeoutMs?: number | undefined;
  /** Time that an answer waits for its client in all, the time of the application not counted. Default: 3,600,000. */
  answerTotalTimeoutMs?: number | undefined;
  /**
   * Least rate at which a client sends its body and reads its answer, averaged over `bodyTimeoutMs` and `answerTimeoutMs`. 0: a single byte in that time suffices.
   * Default: 240.
   */
  minBytesPerSecond?: number | undefined;
  /** Hosts that requests may name: "shop.example", ".shop.example" for all below, "*" for any. Numbers and names without a dot are allowed always. Default: on loopback none but these, elsewhere any. */
  allowedHosts?: readonly string[] | undefined;
  /** Origins of pages that may open WebSockets, such as "https://shop.example", beside pages of the proxy itself. Default: any. */
  allowedOrigins?: readonly string[] | undefined;
  /** Requests that one connection may bring before it is closed; 0 is any number. Default: 0. */
  maxRequestsPerConnection?: number | undefined;
  /** The largest message of a WebSocket; its client is closed with 1009 above it. Default: 1 MiB. */
  maxMessageBytes?: number | undefined;
  /** Write a line of JSON for each request. Default: false. */
  accessLog?: boolean | undefined;
  /** Connections of clients that a proxy has at a time. Default: 20,000, or fewer where its process may have fewer files open. */
  maxConnections?: number | undefined;
  /**
   * Time for which a proxy on a draining node still serves, with 503 at `/-/healthz`, so that load balancers leave it. At most half of the time until the node's
   * deadline. Default: 30,000.
   */
  drainGraceMs?: number | undefined;
  /** Speak HTTPS: HTTP/2, and HTTP/1.1 with those that do not know it. Default: plain HTTP/1.1. */
  tls?: TlsOptions | undefined;
}

export interface ResolvedHttpOptions {
  readonly host: string;
  readonly port: number;
  readonly rootPath: string;
  readonly location: "everyNode" | "headOnly" | "disabled";
  readonly proxies: number;
  readonly preferLocalNode: boolean;
  readonly requestTimeoutMs: RequestTimeout;
  readonly keepAliveTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly maxHeaderBytes: number;
  readonly headersTimeoutMs: number;
  readonly maxConnections: number | undefined;
  readonly bodyTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly bodyTotalTimeoutMs: number;
  readonly answerTotalTimeoutMs: number;
  readonly minBytesPerSecond: number;
  readonly allowedHosts: readonly string[] | undefined;
  readonly allowedOrigins: readonly string[] | undefined;
  readonly maxRequestsPerConnection: number;
  readonly maxMessageBytes: number;
  readonly accessLog: boolean;
  readonly drainGraceMs: number;
  readonly tls: ResolvedTlsOptions | undefined;
}

/** The limit on the time of an answer that a user has set; `null`: none, `undefined`: the default. A process gets it as JSON. */
export type RequestTimeout = number | null | undefined;

export function requestTimeout(): Option<RequestTimeout> {
  return { ...timeLimit(), meaning: (value) => (value === Number.POSITIVE_INFINITY ? null : (value as number | undefined)) };
}

/** Returns the limit that holds; undefined for none. */
export function timeoutOf(given: RequestTimeout): number | undefined {
  return given === undefined ? REQUEST_TIMEOUT_MS : (given ?? undefined);
}

const names = (needed: string, isName: (name: string) => boolean): ReturnType<typeof custom<readonly string[] | undefined>> =>
  custom<readonly string[] | undefined>(needed, undefined, (value) =>
    Array.isArray(value) && value.every((name) => typeof name === "string" && name !== "" && isName(name)) ? "ok" : "wrong type",
  );

function isOrigin(name: string): boolean {
  return name === "*" || (URL.canParse(name) && new URL(name).origin === name);
}

const HTTP = {
  of: "httpOptions",
  otherNames: {
    request_timeout_s: "it is requestTimeoutMs, in milliseconds",
    root_path: "it is rootPath",
    keep_alive_timeout_s: "it is keepAliveTimeoutMs, in milliseconds",
  },
  options: {
    host: text("127.0.0.1"),
    port: count({ min: 0, max: 65_535 }, 8000),
    rootPath: custom<string>('a path such as "/models" without a slash at its end is needed', "", (value) => {
      if (typeof value !== "string") return "wrong type";
      return value === "" || isPath(value) ? "ok" : "out of range";
    }),
    location: oneOf(["everyNode", "headOnly", "disabled"], "everyNode"),
    proxies: count({ min: 1, max: 64 }, 1),
    preferLocalNode: flag(true),
    requestTimeoutMs: requestTimeout(),
    keepAliveTimeoutMs: milliseconds(KEEP_ALIVE_MS),
    maxBodyBytes: count({ min: 0 }, BODY_BYTES_MAX),
    maxHeaderBytes: count({ min: 1024 }, HEADER_BYTES_MAX),
    headersTimeoutMs: milliseconds(HEADERS_WITHIN_MS),
    maxConnections: count({ min: 1 }, undefined),
    bodyTimeoutMs: milliseconds(BODY_PAUSE_MS),
    answerTimeoutMs: milliseconds(ANSWER_PAUSE_MS),
    bodyTotalTimeoutMs: milliseconds(TRANSFER_MS_MAX),
    answerTotalTimeoutMs: milliseconds(TRANSFER_MS_MAX),
    minBytesPerSecond: count({ min: 0, max: 1_000_000 }, CLIENT_BYTES_PER_SECOND_MIN),
    allowedHosts: names('an array of hosts such as "shop.example" is needed', (name) => !/[/:\s]/.test(name)),
    allowedOrigins: names('an array of origins such as "https://shop.example" is needed', isOrigin),
    maxRequestsPerConnection: count({ min: 0 }, 0),
    maxMessageBytes: count({ min: 1, max: 64 * 1024 * 1024 }, MESSAGE_BYTES_MAX),
    accessLog: flag(false),
    drainGraceMs: milliseconds(DRAIN_GRACE_MS),
    tls: tlsOption("httpOptions"),
  },
};

/** @throws TypeError, RangeError that name the option */
export function resolveHttpOptions(given: HttpOptions | undefined): ResolvedHttpOptions {
  return readOptions(given, HTTP);
}

/** How long clients may take with bodies and answers. */
export interface ClientLimits {
  readonly body: TransferLimits;
  readonly answer: TransferLimits;
}

export function clientLimits(options: ResolvedHttpOptions): ClientLimits {
  const { minBytesPerSecond, bodyTimeoutMs, bodyTotalTimeoutMs, answerTimeoutMs, answerTotalTimeoutMs } = options;
  const limits = (pauseMs: number, totalMs: number): TransferLimits => ({
    pauseMs,
    totalMs,
    leastBytes: (minBytesPerSecond * pauseMs) / 1000,
  });
  return { body: limits(bodyTimeoutMs, bodyTotalTimeoutMs), answer: limits(answerTimeoutMs, answerTotalTimeoutMs) };
}
