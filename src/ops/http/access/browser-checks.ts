/**
 * Refuses requests that a page of another site makes a browser send, and names of this server that somebody else's DNS gave it.
 *
 * `Host` must be a name of this machine, so a name that was rebound to it is refused. `Origin`, where a browser sends one, must be the
 * page's own. Pure; asked for each request before anything else.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackHost } from "../../../runtime/os/network/network-address.ts";

export interface OwnNames {
  /** Where the server listens. */
  readonly host: string;
  readonly isTls: boolean;
  /** Further names, such as that of a proxy in front. */
  readonly allowedHosts: readonly string[];
  /** Names and addresses of this machine. */
  readonly machineHosts: readonly string[];
}

/** Why a request is refused; undefined for one that is not. */
export function refusalOf(headers: IncomingHttpHeaders, names: OwnNames, isPage: boolean): string | undefined {
  const host = hostOf(headers.host ?? "");
  if (host === undefined || !isOwn(host, names))
    return "the Host header is not a name of this server; --dashboard-allowed-host NAME allows one";
  const { origin } = headers;
  if (origin !== undefined && !isOwnOrigin(origin, headers.host ?? "", { names, host })) return "pages of other origins may not ask";
  // A link from elsewhere to the page itself shows no data.
  const isVisit = isPage && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  if (headers["sec-fetch-site"] === "cross-site" && !isVisit) return "pages of other sites may not ask";
  return undefined;
}

/** Without its port, in lower case. */
function hostOf(value: string): string | undefined {
  const [, name, address] = /^(?:([a-z0-9._-]+)|\[([0-9a-f:.]+)\])(?::\d{1,5})?$/i.exec(value) ?? [];
  return (name ?? address)?.toLowerCase();
}

function isOwn(host: string, { host: own, allowedHosts, machineHosts }: OwnNames): boolean {
  if (allowedHosts.some((one) => one.toLowerCase() === host)) return true;
  if (isLoopbackHost(own)) return host === "localhost" || isLoopbackHost(host);
  return host === own.toLowerCase() || machineHosts.some((one) => one.toLowerCase() === host);
}

/** A proxy in front may speak TLS for a name that is allowed. */
function isOwnOrigin(origin: string, host: string, { names, host: name }: { names: OwnNames; host: string }): boolean {
  const own = host.toLowerCase();
  if (origin === `${names.isTls ? "https" : "http"}://${own}`) return true;
  return !names.isTls && names.allowedHosts.some((one) => one.toLowerCase() === name) && origin === `https://${own}`;
}
