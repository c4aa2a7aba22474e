/** The part of Express that the tests use: the package has no types. */
declare module "express" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Request extends IncomingMessage {
    readonly params: Readonly<Record<string, string>>;
    readonly query: unknown;
    readonly body: unknown;
    readonly ip: string | undefined;
    readonly baseUrl: string;
    readonly originalUrl: string;
  }
  interface Response extends ServerResponse {
    cookie(name: string, value: string): this;
    status(status: number): this;
    json(value: unknown): this;
    redirect(url: string): void;
    type(type: string): this;
    sendStatus(status: number): this;
    send(text: string): this;
  }
  type Handler = (request: Request, response: Response) => unknown;
  interface Application {
    (request: IncomingMessage, response: ServerResponse): void;
    use(middleware: unknown): this;
    use(path: string, middleware: unknown): this;
    get(path: string, handler: Handler): this;
    post(path: string, handler: Handler): this;
    put(path: string, handler: Handler): this;
  }
  const express: { (): Application; json(options?: { limit?: number }): unknown; Router(): Application };
  export default express;
}
