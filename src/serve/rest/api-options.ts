/**
 * Options of the REST API: where it listens, and whether clients show a token.
 *
 * A client that may deploy runs code in the cluster, so the API listens on loopback by default, and asks for a token wherever other machines reach it. Read by `serve.start`;
 * the resolved options are kept in the cluster's store for the next controller.
 */
import { randomBytes } from "node:crypto";
import { count, custom, readOptions, text } from "../../core/internal.ts";
import { API_PORT } from "../limits.ts";

/** `apiOptions` of `serve.start`. */
export interface ApiOptions {
  /** Default: 127.0.0.1, which nobody else reaches. */
  host?: string | undefined;
  /** Default: 8265, as Ray's dashboard; 0 is any that is free. */
  port?: number | undefined;
  /** Clients show a token as `authorization: Bearer TOKEN`. Default: where `host` is not this machine alone. */
  requireToken?: boolean | undefined;
  /** The token, of 16 characters or more. Default: one that is made, and that `serve.start` returns. */
  token?: string | undefined;
}

export interface ResolvedApiOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined where none is asked for. */
  readonly token: string | undefined;
}

const API = {
  of: "apiOptions",
  otherNames: { dashboard_host: "it is host", dashboard_port: "it is port" },
  options: {
    host: text("127.0.0.1"),
    port: count({ min: 0, max: 65_535 }, API_PORT),
    requireToken: custom<boolean | undefined>("true or false is needed", undefined, (value) =>
      typeof value === "boolean" ? "ok" : "wrong type",
    ),
    token: custom<string | undefined>("text of 16 characters or more, without spaces, is needed", undefined, (value) =>
      typeof value !== "string" ? "wrong type" : /^[\x21-\x7e]{16,}$/.test(value) ? "ok" : "out of range",
    ),
  },
};

/** @throws TypeError, RangeError that name the option */
export function resolveApiOptions(given: ApiOptions | undefined): ResolvedApiOptions {
  const { host, port, requireToken, token } = readOptions(given, API);
  const asks = requireToken ?? (token !== undefined || !isLoopback(host));
  if (!asks && !isLoopback(host))
    throw new RangeError(
      `Cannot set requireToken of apiOptions: whoever reaches the API runs code in the cluster, so other machines show a token: received false with host ${host}`,
    );
  return { host, port, token: asks ? (token ?? randomBytes(24).toString("base64url")) : undefined };
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
