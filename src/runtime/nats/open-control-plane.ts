/**
 * Opens the control store and the bus of a head: in memory for one machine, over NATS for a cluster.
 *
 * Only this file knows how a store, a bus and their connection depend on each other, and in which order they close. Called by the code that
 * starts a head.
 */
import { type NatsLogin, readNatsCredentials } from "./server/nats-login-files.ts";
import type { Bus } from "../control-plane/bus.ts";
import { MemoryBus, MemoryExchange } from "../control-plane/memory-bus.ts";
import { NatsBus } from "./nats-bus.ts";
import { connectNats } from "./nats-link.ts";
import type { NatsOptions, NatsTls } from "./nats-options.ts";
import { NatsStore } from "./nats-store.ts";
import type { StoreServer } from "../wire/cluster/cluster-messages.ts";
import type { ControlStore } from "../control-plane/control-store.ts";
import { MemoryStore } from "../control-plane/memory-store.ts";

export type ControlPlanePlace = { readonly kind: "memory" } | NatsPlace;

export interface NatsPlace {
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
  /** Path of a file as NATS's tools write it, read for each connection, in place of `credentials`. */
  readonly credentialsFile?: string | undefined;
  readonly tls?: NatsTls | undefined;
  /** Servers that keep each change: 1, or 3 where there are three. Default 1. */
  readonly replicas?: number;
  /** Default 10,000. */
  readonly connectTimeoutMs?: number;
}

export interface ControlPlane extends AsyncDisposable {
  readonly store: ControlStore;
  readonly bus: Bus;
  /** The servers that keep the store; undefined where one is neither found nor known from before. */
  readonly storeServers?: (known: readonly StoreServer[]) => Promise<readonly StoreServer[] | undefined>;
  /** False while the client looks for a server. Messages published meanwhile are lost. */
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
    const bus = new NatsBus(link, { cluster });
    const close = async (): Promise<void> => {
      await store.close();
      await bus.close();
      await link.close();
    };
    return {
      store,
      storeServers: (known: readonly StoreServer[]) => store.servers(place.urls, known),
      bus,
      isConnected: () => link.isConnected,
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await link.close();
    throw error;
  }
}

function openMemory(): ControlPlane {
  const store = new MemoryStore();
  const bus = new MemoryBus(new MemoryExchange());
  const close = async (): Promise<void> => {
    await store.close();
    await bus.close();
  };
  return { store, bus, isConnected: () => true, close, [Symbol.asyncDispose]: close };
}

function linkOptions(place: NatsPlace): NatsOptions {
  const { urls, name, credentialsFile, token, user, password, tls, connectTimeoutMs } = place;
  const credentials = credentialsFile === undefined ? place.credentials : () => readNatsCredentials(credentialsFile);
  return {
    servers: urls,
    name,
    ...(credentials !== undefined && { credentials }),
    ...(token !== undefined && { token }),
    ...(user !== undefined && { user, password: password ?? "" }),
    ...(tls !== undefined && { tls }),
    ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
  };
}
