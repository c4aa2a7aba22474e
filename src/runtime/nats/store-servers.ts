/**
 * Finds the servers that keep a store's stream, and their addresses. Without a majority of these servers no write succeeds.
 *
 * The stream's leader names them; the configured servers, and those that they report, identify themselves in their greetings. The list is
 * sent to nodes, which check for themselves whether a majority is away (`runtime/node/membership/fencing/store-absence.ts`). If one server is not
 * found, no list is sent, since that server might live. Servers that speak TLS from the first byte greet only TLS clients.
 */
import { NATS_GREETS_WITHIN_MS } from "./server/limits.ts";
import { serverNameAt } from "./server/nats-greeting.ts";
import type { StoreServer } from "../wire/cluster/cluster-messages.ts";
import type { StreamApi } from "./stream-api.ts";

const NATS_PORT = 4222;
/** Bounds the servers asked in a larger NATS. */
const ASKED_MAX = 32;

interface StreamPlace {
  readonly cluster?: { readonly leader?: string; readonly replicas?: readonly { readonly name: string }[] };
}

interface WhereToLook {
  readonly urls: readonly string[];
  /** From an earlier look: one of them may be away at the moment. */
  readonly known: readonly StoreServer[];
}

/** @returns undefined where one of them is neither found nor known. @throws ControlPlaneUnavailableError when the store does not answer */
export async function findStoreServers(api: StreamApi, { urls, known }: WhereToLook): Promise<readonly StoreServer[] | undefined> {
  const { cluster } = await api.call<StreamPlace>(`STREAM.INFO.${api.stream}`);
  const { info } = api.link.connection;
  const names = new Set(
    [cluster?.leader ?? info?.server_name, ...(cluster?.replicas ?? []).map(({ name }) => name)].filter((name) => name !== undefined),
  );
  const places = Array.from(new Set([...urls, ...(info?.connect_urls ?? [])].map(placeOf))).slice(0, ASKED_MAX);
  const greeted = await Promise.all(
    places.map(async (address): Promise<StoreServer> => {
      const { hostname, port } = new URL(address);
      const host = hostname.replace(/^\[|\]$/g, "");
      const name = await serverNameAt({ host, port: Number(port), timeoutMs: NATS_GREETS_WITHIN_MS }).catch(() => "");
      return { name, address };
    }),
  );
  const servers = Array.from(names, (name) => [...greeted, ...known].find((found) => found.name === name));
  return servers.length > 0 && servers.every((server) => server !== undefined) ? servers : undefined;
}

/** Parses a URL, or the `host:port` form in which servers report each other. */
function placeOf(text: string): string {
  const { hostname, port } = new URL(text.includes("://") ? text.replace(/^[a-z]+:/, "tcp:") : `tcp://${text}`);
  return `tcp://${hostname}:${port === "" ? NATS_PORT : port}`;
}
