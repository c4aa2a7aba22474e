/**
 * The routes of the HTTP server as one table, and which of them a request is for.
 *
 * Paths are matched as they arrive and are never normalized: encoded slashes, dots, backslashes and NUL are of no route. The table also
 * makes `/api/openapi.json` and docs/rest.md, so a route without a description cannot exist. Pure.
 */
import type { Readable } from "node:stream";
import type { HttpAnswer } from "./http-answers.ts";

/** `free`: without a token. `view`: with any token. `admin`: with one that may change the cluster or run code there. */
type Role = "free" | "view" | "admin";
type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";

export interface RouteRequest {
  /** The variable parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The server's name and port, as the client sent them. */
  readonly host: string;
  /** Role of the caller's token; undefined for a free route without one. */
  readonly role: Exclude<Role, "free"> | undefined;
  /** @throws HttpError 413 for a body of more than 1 MiB */
  text(): Promise<string>;
  /** Parses the body. @throws HttpError 400 for a body that is no JSON object, 413 */
  json(): Promise<Readonly<Record<string, unknown>>>;
  /** The body as it comes, for a handler that bounds it. */
  readonly body: Readable;
  /** Ends when the client has gone. */
  readonly signal: AbortSignal;
}

export interface Route {
  readonly method: HttpMethod;
  /** With variable parts: `/api/jobs/{id}`. */
  readonly path: string;
  readonly role: Role;
  /** A sentence for people. */
  readonly summary: string;
  /** Parameters of the query, with what each is. */
  readonly query?: Readonly<Record<string, string>>;
  /** Describes the body of routes that take one. */
  readonly body?: string;
  /** Describes the answer. */
  readonly answers: string;
  /** Whether it asks the cluster: such requests are bounded. */
  readonly isQuery?: true;
  readonly handle: (request: RouteRequest) => Promise<HttpAnswer> | HttpAnswer;
  /** Answers a WebSocket: each text is a message, and the socket closes behind the last one. */
  readonly messages?: (request: RouteRequest) => Promise<AsyncIterable<string>>;
}

type RouteMatch =
  | { readonly kind: "found"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: "otherMethod"; readonly methods: readonly HttpMethod[] }
  | { readonly kind: "none" };

/** Spellings of a slash, a dot, a backslash or NUL that a route never has. */
const UNSAFE = /%2f|%2e|%5c|%00|\\|\/\/|\/\.{1,2}(\/|$)/i;

export class Router {
  readonly routes: readonly Route[];
  /** By the path without variable parts, or with `*` for them. */
  readonly #byShape = new Map<string, Map<HttpMethod, Route>>();

  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const route of routes) {
      const shape = route.path.replace(/\{\w+\}/g, "*");
      const methods = this.#byShape.get(shape) ?? new Map<HttpMethod, Route>();
      if (methods.has(route.method)) throw new Error(`two routes are ${route.method} ${route.path}`);
      this.#byShape.set(shape, methods.set(route.method, route));
    }
  }

  match(method: string | undefined, path: string): RouteMatch {
    if (!path.startsWith("/") || UNSAFE.test(path)) return { kind: "none" };
    const methods = this.#byShape.get(path) ?? this.#byParts(path);
    if (methods === undefined) return { kind: "none" };
    const route = methods.get((method === "HEAD" ? "GET" : method) as HttpMethod);
    if (route === undefined) return { kind: "otherMethod", methods: Array.from(methods.keys()) };
    const params = paramsOf(route.path, path);
    return params === undefined ? { kind: "none" } : { kind: "found", route, params };
  }

  /** Paths have few parts, and at most two of them vary. */
  #byParts(path: string): Map<HttpMethod, Route> | undefined {
    const parts = path.split("/");
    for (const [shape, methods] of this.#byShape) {
      if (!shape.includes("*")) continue;
      const wanted = shape.split("/");
      if (wanted.length === parts.length && wanted.every((part, at) => part === parts[at] || (part === "*" && parts[at] !== "")))
        return methods;
    }
    return undefined;
  }
}

/** @returns undefined for a part that cannot be decoded, or holds a control character */
function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const parts = path.split("/");
  const params: Record<string, string> = {};
  for (const [at, part] of pattern.split("/").entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined) continue;
    try {
      params[name] = decodeURIComponent(parts[at] ?? "");
    } catch {
      return undefined;
    }
    if (/\p{Cc}/u.test(params[name])) return undefined;
  }
  return params;
}
