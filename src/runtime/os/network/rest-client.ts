/**
 * Sends requests of HTTP to one server: whole answers, and answers that are lines without an end.
 *
 * Node's `fetch` takes no authority and no certificate of one's own, so this client is on `node:https`. Every answer has a time limit and a
 * limit on its bytes. Connections are kept between requests, and end with `close`.
 */
import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import { CONNECT_WITHIN_MS } from "../limits.ts";

/** A server, with the certificates of both sides. */
export interface RestServer {
  /** `https://HOST:PORT`, perhaps with a path in front of all others; `http` is for a proxy of this machine. */
  readonly url: string;
  /** Authorities of the server's certificate, in PEM. Default: those of the system. */
  readonly ca?: string | undefined;
  /** The name in the server's certificate, where the URL has another. */
  readonly serverName?: string | undefined;
  /** Certificate and key of this client, in PEM. */
  readonly client?: { readonly cert: string; readonly key: string } | undefined;
}

export interface RestRequest {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Time for the whole answer. */
  readonly timeoutMs: number;
  /** Limit on the bytes of the answer, or of a line. */
  readonly bytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

export interface RestAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const KEEP_ALIVE_MS = 15_000;
const SOCKETS_MAX = 16;

export class RestClient {
  /** Without a slash at its end. */
  readonly #base: string;
  readonly #send: typeof https.request;
  readonly #agent: http.Agent;

  constructor({ url, ca, serverName, client }: RestServer) {
    this.#base = url.replace(/\/+$/, "");
    const isPlain = new URL(url).protocol === "http:";
    const kept = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, maxSockets: SOCKETS_MAX };
    this.#send = isPlain ? http.request : https.request;
    this.#agent = isPlain
      ? new http.Agent(kept)
      : new https.Agent({
          ...kept,
          ...client,
          ...(ca !== undefined && { ca }),
          ...(serverName !== undefined && { servername: serverName }),
        });
  }

  /** Resolves with an answer of any status. @throws where no whole answer comes */
  async request(wanted: RestRequest): Promise<RestAnswer> {
    return await this.#exchange(wanted, async (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      for await (const part of response as AsyncIterable<Buffer>) {
        bytes += part.length;
        if (bytes > wanted.bytesMax) throw new RangeError(`the answer has more than ${wanted.bytesMax} bytes`);
        parts.push(part);
      }
      return Buffer.concat(parts).toString("utf8");
    });
  }

  /**
   * Hands on each line of an answer as it arrives. An answer of another status than 200 has no lines but a text.
   *
   * @returns once the server has ended the answer @throws where the connection breaks, or the time is over
   */
  async lines(wanted: RestRequest, onLine: (line: string) => void): Promise<RestAnswer> {
    return await this.#exchange(wanted, async (response) => {
      const isText = response.statusCode !== 200;
      let text = "";
      response.setEncoding("utf8");
      for await (const part of response as AsyncIterable<string>) {
        text += part;
        if (!isText && part.includes("\n")) {
          const lines = text.split("\n");
          text = lines.pop() as string;
          for (const line of lines) onLine(line);
        }
        if (text.length > wanted.bytesMax) throw new RangeError(`a line of the answer has more than ${wanted.bytesMax} bytes`);
      }
      return text;
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  async #exchange(wanted: RestRequest, read: (response: IncomingMessage) => Promise<string>): Promise<RestAnswer> {
    const { method, path, headers, body, timeoutMs, signal } = wanted;
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(new Error(`no whole answer within ${timeoutMs / 1000} s`)), timeoutMs);
    const all = signal === undefined ? ending.signal : AbortSignal.any([ending.signal, signal]);
    try {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const request = this.#send(new URL(`${this.#base}${path}`), {
        method,
        headers: { ...headers, ...(body !== undefined && { "content-length": Buffer.byteLength(body) }) },
        agent: this.#agent,
        signal: all,
      });
      request.on("response", resolve).on("error", reject);
      request.on("socket", (socket) => {
        if (!socket.connecting) return;
        const connecting = setTimeout(
          () => request.destroy(new Error(`no connection within ${CONNECT_WITHIN_MS / 1000} s`)),
          CONNECT_WITHIN_MS,
        );
        for (const event of ["connect", "close"]) socket.once(event, () => clearTimeout(connecting));
      });
      request.end(body);
      const response = await promise;
      const text = await read(response);
      return { status: response.statusCode ?? 0, headers: response.headers, text };
    } catch (error) {
      throw all.aborted && all.reason instanceof Error ? all.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
