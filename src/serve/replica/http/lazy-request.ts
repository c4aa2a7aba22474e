/**
 * The `Request` that an ingress gets: method, url, headers and a small body are ready at once, and a real `Request` is made only for other members.
 *
 * The lazy request passes `instanceof Request`, and all members of a `Request` work. A real `Request` for each call costs more than the rest of the call (measured: 19
 * against 55 thousand requests a second).
 */
import { isInstance, passOn, shareHeaders } from "./lazy-class.ts";
import type { BodyReceiver } from "../../wire/body-receiver.ts";
import type { RequestHead } from "../../wire/frames.ts";

const WITHOUT_BODY = new Set(["GET", "HEAD"]);

const parts = Symbol("parts");
const real = Symbol("real");

interface Parts {
  readonly head: RequestHead;
  readonly body: Uint8Array | BodyReceiver;
  readonly signal: () => AbortSignal;
  headers: Headers | undefined;
  made: Request | undefined;
  isUsed: boolean;
}

class LazyRequest {
  readonly [parts]: Parts;

  constructor(given: Parts) {
    this[parts] = given;
  }

  get [real](): Request {
    const own = this[parts];
    own.made ??= newRequest(own);
    if (own.headers !== undefined) shareHeaders(own.made.headers, own.headers);
    return own.made;
  }

  get method(): string {
    return this[parts].head.method;
  }

  get url(): string {
    return this[parts].head.url;
  }

  get headers(): Headers {
    const own = this[parts];
    own.headers ??= own.made?.headers ?? newHeaders(own.head.headers);
    return own.headers;
  }

  get signal(): AbortSignal {
    return this[parts].signal();
  }

  /** Named as by the servers below h3 and Nitro, whose `getRequestIP` reads it. */
  get ip(): string | undefined {
    const { client } = this[parts].head;
    return client === "" ? undefined : client;
  }

  get body(): ReadableStream | null {
    return this[real].body;
  }

  get bodyUsed(): boolean {
    const { made, isUsed } = this[parts];
    return isUsed || made?.bodyUsed === true;
  }

  text(): Promise<string> {
    const bytes = takeWhole(this[parts]);
    return bytes === undefined ? this[real].text() : Promise.resolve(new TextDecoder().decode(bytes));
  }

  json(): Promise<unknown> {
    const bytes = takeWhole(this[parts]);
    if (bytes === undefined) return this[real].json();
    return new Promise((resolve) => resolve(JSON.parse(new TextDecoder().decode(bytes))));
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    const bytes = takeWhole(this[parts]);
    return bytes === undefined ? this[real].arrayBuffer() : Promise.resolve(Uint8Array.from(bytes).buffer);
  }

  bytes(): Promise<Uint8Array> {
    const bytes = takeWhole(this[parts]);
    return bytes === undefined
      ? this[real].arrayBuffer().then((buffer) => new Uint8Array(buffer))
      : Promise.resolve(Uint8Array.from(bytes));
  }
}

/** Set late, because naming a class of fetch makes Node load it: that costs a process without requests, such as the controller's, more than all of Serve. */
let RealRequest: typeof Request;
let isRequest = false;
let isInUse = false;

/** Adds the members of the real class, which ask the real request. */
function becomeRequest(): void {
  if (isRequest) return;
  isRequest = true;
  RealRequest = globalThis.Request;
  Object.setPrototypeOf(LazyRequest.prototype, RealRequest.prototype);
  passOn(LazyRequest.prototype, RealRequest.prototype, (request) => (request as LazyRequest)[real]);
}

/** Makes `new Request` and `fetch` of this process take lazy requests: Node's own read private parts, which a lazy request lacks. */
export function useLazyRequest(): void {
  if (isInUse) return;
  isInUse = true;
  globalThis.Request = requestClass();
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => await fetch(realOf(input), init);
}

/** The class of requests that takes lazy ones. @internal exported for tests */
export function requestClass(): typeof Request {
  becomeRequest();
  class Own extends RealRequest {
    constructor(input: string | URL | Request, init?: RequestInit) {
      super(realOf(input), init);
    }

    static override [Symbol.hasInstance](value: unknown): boolean {
      return this === Own ? value instanceof RealRequest : isInstance(this, value);
    }
  }
  Object.defineProperty(Own, "name", { value: "Request" });
  Object.defineProperty(LazyRequest.prototype, "constructor", { value: Own });
  return Own;
}

function realOf<T>(input: T): T | Request {
  return input instanceof LazyRequest ? input[real] : input;
}

/** `signal` is asked for when the handler does, or when a real `Request` is made. */
export function lazyRequest(head: RequestHead, body: Uint8Array | BodyReceiver, signal: () => AbortSignal): Request {
  becomeRequest();
  return new LazyRequest({ head, body, signal, headers: undefined, made: undefined, isUsed: false }) as unknown as Request;
}

/**
 * The address of the client that sent a request, as its proxy saw it; no header changes it. Behind a load balancer it is the balancer's.
 *
 * @returns undefined for a request that was made in some other way, such as a copy
 * @example
 * const isLocal = (request: Request) => serve.getClientAddress(request) === "127.0.0.1";
 */
export function getClientAddress(request: Request): string | undefined {
  return request instanceof LazyRequest ? request.ip : undefined;
}

/** The head of a request that `lazyRequest` made, with its headers as the client sent them. */
export function headOf(request: Request): RequestHead {
  return (request as unknown as LazyRequest)[parts].head;
}

/** The body of such a request, whether or not it has been read. */
export function bodyOf(request: Request): Uint8Array | BodyReceiver {
  return (request as unknown as LazyRequest)[parts].body;
}

/** The body where it is here as a whole and nobody has read it; from then on it counts as read. */
function takeWhole(own: Parts): Uint8Array | undefined {
  if (own.made !== undefined || own.isUsed || !(own.body instanceof Uint8Array)) return undefined;
  // A request without a body can be read again and again.
  own.isUsed = own.body.byteLength > 0;
  return own.body;
}

function newHeaders(flat: readonly string[]): Headers {
  const headers = new Headers();
  for (let index = 0; index < flat.length; index += 2) headers.append(flat[index] as string, flat[index + 1] as string);
  return headers;
}

function newRequest(own: Parts): Request {
  const { head, body, isUsed } = own;
  const init: RequestInit & { duplex?: "half" } = {
    method: head.method,
    headers: own.headers ?? newHeaders(head.headers),
    signal: own.signal(),
  };
  if (!WITHOUT_BODY.has(head.method)) {
    if (!(body instanceof Uint8Array)) init.body = streamOf(body);
    else if (body.byteLength > 0) init.body = body as Uint8Array<ArrayBuffer>;
    init.duplex = "half";
  }
  const request = new RealRequest(head.url, init);
  // The body was read before, so the real request's is consumed: a second reading fails as on any request.
  if (isUsed) void request.arrayBuffer();
  return request;
}

function streamOf(body: BodyReceiver): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      pull: async (controller) => {
        const piece = await body.next();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
}
