/** Finds the application of a path: the longest prefix that ends at a slash. Pure. */
import type { RouteEntry, RouteTableValue } from "../routing/controller-messages.ts";

interface RouteMatch {
  readonly entry: RouteEntry;
  /** The path without the prefix; begins with a slash. */
  readonly rest: string;
}

/** Whether a text is a path below "/" that an application can have. */
export function isPath(text: string): boolean {
  return /^(\/[^/?#\s]+)+$/.test(text);
}

/** Returns a route below the common root path. */
export function underRoot(rootPath: string, routePrefix: string): string {
  const root = rootPath.replace(/\/+$/, "");
  return root === "" ? routePrefix : routePrefix === "/" ? root : root + routePrefix;
}

export class RouteTable {
  #entries: readonly RouteEntry[] = [];
  /** A table with nothing but "/" is asked nothing. */
  #only: RouteEntry | undefined;

  update(routes: RouteTableValue): void {
    this.#entries = [...routes].sort((a, b) => b.prefix.length - a.prefix.length);
    const [first] = this.#entries;
    this.#only = this.#entries.length === 1 && first?.prefix === "/" ? first : undefined;
  }

  get entries(): readonly RouteEntry[] {
    return this.#entries;
  }

  /** @param target path and query, as the client sent them */
  match(target: string): RouteMatch | undefined {
    if (this.#only !== undefined) return { entry: this.#only, rest: target };
    const end = target.search(/[?#]/);
    const path = end < 0 ? target : target.slice(0, end);
    for (const entry of this.#entries) {
      const { prefix } = entry;
      if (prefix === "/") return { entry, rest: target };
      if (path !== prefix && !path.startsWith(`${prefix}/`)) continue;
      const rest = target.slice(prefix.length);
      return { entry, rest: rest.startsWith("/") ? rest : `/${rest}` };
    }
    return undefined;
  }
}
