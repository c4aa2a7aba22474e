/**
 * Which servers keep the stream of a store, and where each is reached: without a majority of them nothing is written.
 *
 * The stream's leader names them; the servers that were configured, and those that they tell of, say in their greetings who they are. Told to nodes, which see for themselves when most of them are away
 * (`runtime/node/membership/store-absence.ts`). Where one of them is not found nobody is told anything: it might live. Servers that speak TLS from the first byte greet nobody who does not.
 */
import { NATS_GREETS_WITHIN_MS } from "./server/limits.ts";
import { serverNameAt } from "./server/nats-greeting.ts";
import type { StoreServer } from "../wire/cluster-messages.ts";
import type { StreamApi } from "./stream-api.ts";

const NATS_PORT = 4222;
/** Of a larger NATS not every server is asked. */
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

/** Of a URL, or `host:port` as servers tell of each other. */
function placeOf(text: string): string {
  const { hostname, port } = new URL(text.includes("://") ? text.replace(/^[a-z]+:/, "tcp:") : `tcp://${text}`);
  return `tcp://${hostname}:${port === "" ? NATS_PORT : port}`;
}
