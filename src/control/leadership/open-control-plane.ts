/**
 * Opens what a head keeps its tables in and talks over, or what a node talks over: in memory for one machine, NATS for a cluster.
 *
 * The one place that knows how a store, a bus and the connection under them belong together, and in which order they end. A node gets a bus and no
 * store: its credentials would not open one. Called by whoever starts a head or a node.
 */
import { type NatsLogin, readNatsCredentials } from "../../platform/nats/nats-login-files.ts";
import type { Bus, BusOptions } from "../bus/bus.ts";
import { MemoryBus, MemoryExchange } from "../bus/memory-bus.ts";
import { NatsBus } from "../nats/nats-bus.ts";
import { connectNats, type NatsLink, type NatsOptions, type NatsTls } from "../nats/nats-link.ts";
import { NatsStore } from "../nats/nats-store.ts";
import { nodeInbox } from "../nats/node-permissions.ts";
import type { StoreServer } from "../../wire/cluster-messages.ts";
import type { ControlStore } from "../store/control-store.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { MemoryTables } from "../store/memory-tables.ts";

export type ControlPlanePlace = { readonly kind: "memory" } | NatsPlace;

export interface NatsPlace extends BusOptions {
  readonly kind: "nats";
  /** `nats://host:port`, one or several servers of the same NATS. */
  readonly urls: readonly string[];
  /** Names the state; 1 to 64 letters, digits, "_" and "-". */
  readonly cluster: string;
  /** How this process is called in the servers' lists. */
  readonly name: string;
  readonly credentials?: (() => NatsLogin) | undefined;
  readonly token?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** The path of a file as NATS's own tools write it, read for each connection; in the place of `credentials`. */
  readonly credentialsFile?: string | undefined;
  readonly tls?: NatsTls | undefined;
  /** Servers that keep each change: 1, or 3 where there are three. Default 1. */
  readonly replicas?: number;
  /** Default 10,000. */
  readonly connectTimeoutMs?: number;
  readonly onRefused?: ((error: Error) => void) | undefined;
}

export interface ControlPlane extends NodeBus {
  readonly store: ControlStore;
  /** The servers that keep the store; undefined where one is neither found nor known from before. */
  readonly storeServers?: (known: readonly StoreServer[]) => Promise<readonly StoreServer[] | undefined>;
}

/** What a node has of the control plane: the bus, and no tables. */
export interface NodeBus extends AsyncDisposable {
  readonly bus: Bus;
  /** False while servers are looked for; what is published then is lost. */
  readonly isConnected: () => boolean;
  close(): Promise<void>;
}

/** @throws ControlPlaneUnavailableError with the cause, RangeError for a name that cannot be one */
export async function openControlPlane(place: ControlPlanePlace): Promise<ControlPlane> {
  if (place.kind === "memory") return openMemory();
  const link = await connectNats(linkOptions(place));
  try {
    const { cluster, replicas = 1 } = place;
    const store = await NatsStore.open(link, { cluster, replicas });
    return {
      store,
      storeServers: (known: readonly StoreServer[]) => store.servers(place.urls, known),
      ...busOver(link, place, () => store.close()),
    };
  } catch (error) {
    await link.close();
    throw error;
  }
}

/** For the node with this id, whose credentials let it do no more. @throws ControlPlaneUnavailableError with the cause */
export async function openNodeBus(place: NatsPlace & { readonly nodeId: string }): Promise<NodeBus> {
  const link = await connectNats({ ...linkOptions(place), inboxPrefix: nodeInbox(place.nodeId), needsJetStream: false });
  return busOver(link, place, async () => {});
}

function openMemory(): ControlPlane {
  const tables = new MemoryTables();
  const store = new MemoryStore(tables);
  const bus = new MemoryBus(new MemoryExchange());
  const close = async (): Promise<void> => {
    await store.close();
    await bus.close();
    tables.dispose();
  };
  return { store, bus, isConnected: () => true, close, [Symbol.asyncDispose]: close };
}

function busOver(link: NatsLink, { cluster, onError }: NatsPlace, closeStore: () => Promise<void>): NodeBus {
  const bus = new NatsBus(link, { cluster, ...(onError !== undefined && { onError }) });
  const close = async (): Promise<void> => {
    await closeStore();
    await bus.close();
    await link.close();
  };
  return { bus, isConnected: () => link.isConnected, close, [Symbol.asyncDispose]: close };
}

function linkOptions(place: NatsPlace): NatsOptions {
  const { urls, name, credentialsFile, token, user, password, tls, connectTimeoutMs, onRefused } = place;
  const credentials = credentialsFile === undefined ? place.credentials : () => readNatsCredentials(credentialsFile);
  return {
    servers: urls,
    name,
    ...(credentials !== undefined && { credentials }),
    ...(token !== undefined && { token }),
    ...(user !== undefined && { user, password: password ?? "" }),
    ...(tls !== undefined && { tls }),
    ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
    ...(onRefused !== undefined && { onRefused }),
  };
}
