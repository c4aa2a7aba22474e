/**
 * Decides which hosts and origins a proxy answers: `allowedHosts` and `allowedOrigins`. Pure.
 *
 * A web page whose own name is rebound to 127.0.0.1 reaches a proxy there through its visitor's browser, and its requests name its own domain. Without the option a proxy on
 * loopback therefore refuses domains. Numbers and names without a dot are no domains that a stranger can own.
 */
import { isIP } from "node:net";

/** Whether a proxy at an address is reached from its own machine alone. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

export class AllowedHosts {
  readonly #names: readonly string[];
  readonly #takesAll: boolean;
  /** The host that was allowed last: most clients name the same. */
  #last = "";

  /** @param listening the address of the proxy @param names undefined: the default of that address */
  constructor(listening: string, names: readonly string[] | undefined) {
    this.#names = (names ?? []).map((name) => name.toLowerCase());
    this.#takesAll = this.#names.includes("*") || (names === undefined && !isLoopback(listening));
  }

  /** @param host of a request, with or without a port */
  allows(host: string): boolean {
    if (this.#takesAll || host === this.#last) return true;
    const name = host.replace(/:\d*$/, "").toLowerCase();
    if (!this.#allowsName(name)) return false;
    this.#last = host;
    return true;
  }

  #allowsName(name: string): boolean {
    if (name.startsWith("[") || isIP(name) !== 0 || !name.includes(".") || name.endsWith(".localhost")) return true;
    return this.#names.some((allowed) => name === allowed || (allowed.startsWith(".") && name.endsWith(allowed)));
  }
}

/**
 * Whether a WebSocket may be opened for a page. Browsers send the page's origin, other clients need none.
 *
 * @param allowed undefined allows every page
 * @param host of the request: a page of the proxy itself may
 */
export function allowsOrigin(allowed: readonly string[] | undefined, origin: string | undefined, host: string): boolean {
  if (allowed === undefined || origin === undefined || allowed.includes("*") || allowed.includes(origin)) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}
