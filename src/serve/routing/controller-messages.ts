/**
 * Messages between the controller and processes with routers, over a connection beside the controller's calls: subscriptions to keys, new values of keys,
 * replicas that a process has released, numbers of requests, and metrics.
 *
 * A connection and not calls: a driver that only holds a handle must be able to end, and new values are pushed to hundreds of processes without a poll from each.
 */
import type { ServiceConnection } from "../../core/internal.ts";
import type { MetricSnapshot } from "../../metrics/registry.ts";
import type { DeploymentRoutes } from "./deployment-router.ts";

export const TOLD = { SUBSCRIBE: 200, UPDATE: 201, RELEASED: 202, REPORT: 203, METRICS: 204, UNSUBSCRIBE: 205, SYNC: 206 } as const;

/** The route of an application. */
export interface RouteEntry {
  readonly prefix: string;
  readonly app: string;
  /** The deployment that gets its requests. */
  readonly ingress: string;
  /** The ingress gets URLs with the prefix. */
  readonly keepsPrefix: boolean;
}

export type RouteTableValue = readonly RouteEntry[];

/** The key of all routes, and of each deployment. */
export const ROUTES_KEY = "routes";
export function deploymentKey(app: string, deployment: string): string {
  return `deployment/${app}/${deployment}`;
}

/** A process wants to hear of a key from now on. `held`: replicas that it still uses, as after a new controller has come. */
export interface SubscribeBody {
  readonly key: string;
  readonly held: readonly string[];
}

export interface UnsubscribeBody {
  readonly key: string;
}

/** `null`: there is no such deployment. */
export interface UpdateBody {
  readonly key: string;
  readonly value: RouteTableValue | DeploymentRoutes | null;
  /** When it changed, in milliseconds since 1970; undefined for the value that a new subscriber is told. */
  readonly changedMs?: number | undefined;
}

export interface ReleasedBody {
  readonly key: string;
  readonly replica: string;
}

/** Requests of one process by deployment: those that wait and those under way. */
export type LoadReport = readonly (readonly [app: string, deployment: string, queued: number, ongoing: number])[];

export interface ReportBody {
  /** In milliseconds since 1970. */
  readonly atMs: number;
  readonly loads: LoadReport;
}

/** The controller asks with an empty list; a process that is no proxy or replica answers with its metrics and a name for itself. */
export interface MetricsBody {
  readonly process: string;
  readonly metrics: readonly MetricSnapshot[];
}

/** The controller answers with the same, behind everything that it has to tell the process. */
export interface SyncBody {
  readonly number: number;
}

type Body = SubscribeBody | UnsubscribeBody | UpdateBody | ReleasedBody | ReportBody | MetricsBody | SyncBody;

export function tell(connection: ServiceConnection, type: number, body: Body): void {
  connection.send(type, undefined, { parts: [Buffer.from(JSON.stringify(body))] });
}

export function bodyOf(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString());
}
