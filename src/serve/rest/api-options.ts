/**
 * Options of the REST API: where it listens, and the token that clients show.
 *
 * A client that may deploy runs code in the cluster as its owner. The API listens on loopback by default and always asks for a token, as other users of the machine reach loopback. Read by `serve.start`;
 * the resolved options are kept in the cluster's store for the next controller.
 */
import { randomBytes } from "node:crypto";
import { count, custom, readOptions, text } from "../../core/internal.ts";
import { API_PORT } from "../limits.ts";

/** `apiOptions` of `serve.start`. */
export interface ApiOptions {
  /** Default: 127.0.0.1, which no other machine reaches. */
  host?: string | undefined;
  /** Default: 8265, as Ray's dashboard; 0 is any that is free. */
  port?: number | undefined;
  /** Clients show it as `authorization: Bearer TOKEN`; 16 characters or more. Default: a random one, which `serve.start` and `serve.restApi` return. */
  token?: string | undefined;
}

export interface ResolvedApiOptions {
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

const API = {
  of: "apiOptions",
  otherNames: {
    dashboard_host: "it is host",
    dashboard_port: "it is port",
    requireToken: "the API always asks for a token: leave it out",
  },
  options: {
    host: text("127.0.0.1"),
    port: count({ min: 0, max: 65_535 }, API_PORT),
    token: custom<string | undefined>("text of 16 characters or more, without spaces, is needed", undefined, (value) =>
      typeof value !== "string" ? "wrong type" : /^[\x21-\x7e]{16,}$/.test(value) ? "ok" : "out of range",
    ),
  },
};

/** @throws TypeError, RangeError that name the option */
export function resolveApiOptions(given: ApiOptions | undefined): ResolvedApiOptions {
  const { host, port, token } = readOptions(given, API);
  return { host, port, token: token ?? randomBytes(24).toString("base64url") };
}
