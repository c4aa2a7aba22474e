/**
 * The `Response` of a replica's process: a body of text or bytes is kept unchanged, and a real `Response` is made only for unusual members.
 *
 * `useLazyResponse` replaces the global class, so that frameworks make lazy responses unknowingly. `instanceof Response` holds. Arguments that the real
 * constructor would refuse, and all unusual ones, go to the real constructor.
 */
import { isInstance, passOn, shareHeaders } from "./lazy-class.ts";

/** Header names that need no check by the real constructor; it decides on all others. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Header values of the same kind: visible ASCII, spaces and tabs; no space around.
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const TEXT_TYPE = "text/plain;charset=UTF-8";

const given = Symbol("given");
const real = Symbol("real");

interface Given {
  readonly body: string | Uint8Array | null;
  readonly status: number;
  readonly statusText: string;
  readonly init: Readonly<Record<string, string>> | undefined;
  headers: Headers | undefined;
  made: Response | undefined;
}

/** The parts of a response whose whole body is in memory, ready to be sent. */
interface WholeResponse {
  readonly status: number;
  readonly statusText: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: string | Uint8Array | undefined;
}

/** Set by `lazyResponse`, because naming a class of fetch makes Node load it: processes without responses start faster. */
let RealResponse: typeof Response;
let isResponse = false;

class LazyResponse {
  readonly [given]!: Given;

  constructor(body?: unknown, init?: unknown) {
    const kept = keep(body, init);
    // The returned value takes the place of `this`: a real response passes `instanceof Response`, too.
    if (kept === undefined)
      return new RealResponse(
        body as ConstructorParameters<typeof Response>[0],
        init as ResponseInit | undefined,
      ) as unknown as LazyResponse;
    this[given] = kept;
  }

  /** A real one, such as `fetch` gives, is a `Response` as well. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return this === LazyResponse ? value instanceof RealResponse : isInstance(this, value);
  }

  static json(data: unknown, init?: ResponseInit): Response {
    const text = JSON.stringify(data);
    if (text === undefined) return RealResponse.json(data, init);
    if (init?.headers !== undefined) return RealResponse.json(data, init);
    return new LazyResponse(text, { ...init, headers: { "content-type": "application/json" } }) as unknown as Response;
  }

  get [real](): Response {
    const own = this[given];
    own.made ??= new RealResponse(own.body as ConstructorParameters<typeof Response>[0], {
      status: own.status,
      statusText: own.statusText,
      headers: own.headers ?? headersOf(own),
    });
    if (own.headers !== undefined) shareHeaders(own.made.headers, own.headers);
    return own.made;
  }

  get status(): number {
    return this[given].status;
  }

  get statusText(): string {
    return this[given].statusText;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): Headers {
    const own = this[given];
    own.headers ??= own.made?.headers ?? headersOf(own);
    return own.headers;
  }
}

Object.defineProperty(LazyResponse, "name", { value: "Response" });

/** From now on `new Response` in this process makes lazy ones. */
export function useLazyResponse(): void {
  globalThis.Response = lazyResponse();
}

/** The class. @internal exported for tests */
export function lazyResponse(): typeof Response {
  if (!isResponse) {
    isResponse = true;
    RealResponse = globalThis.Response;
    Object.setPrototypeOf(LazyResponse.prototype, RealResponse.prototype);
    Object.setPrototypeOf(LazyResponse, RealResponse);
    passOn(LazyResponse.prototype, RealResponse.prototype, (response) => (response as LazyResponse)[real]);
  }
  return LazyResponse as unknown as typeof Response;
}

/** Gives the parts of a response whose body is in memory and untouched; undefined for all others. */
export function wholeOf(response: Response): WholeResponse | undefined {
  const own = (response as unknown as Partial<LazyResponse>)[given];
  if (own === undefined || own.made !== undefined) return undefined;
  const { status, statusText, body, headers: made } = own;
  return { status, statusText, headers: made === undefined ? flatInit(own) : flatHeaders(made), body: body ?? undefined };
}

export function flatHeaders(headers: Headers): string[] {
  const flat: string[] = [];
  for (const [name, value] of headers) flat.push(name, value);
  return flat;
}

function flatInit({ init, body }: Given): string[] {
  const flat: string[] = [];
  let hasType = false;
  for (const name in init) {
    flat.push(name, init[name] as string);
    if (name.length === 12 && name.toLowerCase() === "content-type") hasType = true;
  }
  if (!hasType && typeof body === "string") flat.push("content-type", TEXT_TYPE);
  return flat;
}

function headersOf(own: Given): Headers {
  const headers = new Headers(own.init);
  if (typeof own.body === "string" && !headers.has("content-type")) headers.set("content-type", TEXT_TYPE);
  return headers;
}

/** Values that the real constructor would derive from its arguments; undefined where only the real constructor can decide. */
function keep(body: unknown, init: unknown): Given | undefined {
  if (body !== undefined && body !== null && typeof body !== "string" && !(body instanceof Uint8Array)) return undefined;
  const bytes = typeof body === "string" ? body : body === undefined || body === null ? null : Uint8Array.from(body);
  if (init === undefined || init === null)
    return { body: bytes, status: 200, statusText: "", init: undefined, headers: undefined, made: undefined };
  if (typeof init !== "object") return undefined;
  const { status = 200, statusText = "", headers } = init as { status?: unknown; statusText?: unknown; headers?: unknown };
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599) return undefined;
  // Such a response has no body: the real constructor says so.
  if (bytes !== null && (status === 204 || status === 205 || status === 304)) return undefined;
  if (typeof statusText !== "string" || !(statusText === "" || VALUE.test(statusText))) return undefined;
  if (headers === undefined) return { body: bytes, status, statusText, init: undefined, headers: undefined, made: undefined };
  if (headers instanceof Headers) {
    const copy = new Headers(headers);
    if (typeof bytes === "string" && !copy.has("content-type")) copy.set("content-type", TEXT_TYPE);
    return { body: bytes, status, statusText, init: undefined, headers: copy, made: undefined };
  }
  const own = plainHeaders(headers);
  return own === undefined ? undefined : { body: bytes, status, statusText, init: own, headers: undefined, made: undefined };
}

/** A copy of headers that are an object of texts, each under one spelling. */
function plainHeaders(headers: unknown): Record<string, string> | undefined {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers) || Symbol.iterator in headers) return undefined;
  const copy: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string" || !NAME.test(name) || !VALUE.test(value)) return undefined;
    const lower = name.toLowerCase();
    if (lower in copy) return undefined;
    copy[lower] = value;
  }
  return copy;
}
