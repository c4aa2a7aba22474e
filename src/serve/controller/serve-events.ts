/**
 * Events that the controller's state takes in, and effects that it asks for. No code.
 *
 * An event states a fact, never a consequence. An effect states an action, and its outcome comes back as an event. `controller.ts` and `replica-starter.ts` make
 * events and carry out effects; `serve-state.ts` and `deployment-state.ts` decide.
 */
import type { LabelSelector } from "../../core/index.ts";
import type { ApplicationTarget, GangConfig } from "../deployments/deployment-config.ts";
import type { ReplicaSettings } from "../replica/taken-settings.ts";
import type { LoggingConfig } from "../replica/context/replica-log.ts";
import type { TracingConfig } from "../tracing.ts";
import type { LoadReport } from "../routing/controller-messages.ts";

export type ServeEvent =
  | { readonly kind: "deploy"; readonly target: ApplicationTarget }
  | { readonly kind: "delete"; readonly app: string }
  /** The replica has its object and its configuration, and is healthy. `lacks`: methods that it would need to answer clients of a proxy. */
  | { readonly kind: "started"; readonly replica: string; readonly nodeId: string; readonly pid: number; readonly lacks: readonly string[] }
  /** The reason why the replica has not started yet. */
  | { readonly kind: "explained"; readonly replica: string; readonly reason: string }
  | { readonly kind: "startFailed"; readonly replica: string; readonly reason: string }
  | { readonly kind: "reconfigured"; readonly replica: string }
  /** `isLate`: the time was over, and the call may run on. */
  | { readonly kind: "reconfigureFailed"; readonly replica: string; readonly reason: string; readonly isLate: boolean }
  | { readonly kind: "healthy"; readonly replica: string }
  | { readonly kind: "unhealthy"; readonly replica: string; readonly reason: string }
  /** A replica's process has ended, wanted or not. */
  | { readonly kind: "ended"; readonly replica: string; readonly reason: string }
  /** A replica's node is about to leave. */
  | { readonly kind: "moving"; readonly replica: string }
  /** A controller that has taken over found it. */
  | { readonly kind: "found"; readonly replica: FoundReplica }
  | { readonly kind: "load"; readonly source: string; readonly report: LoadReport }
  | { readonly kind: "sourceGone"; readonly source: string }
  | { readonly kind: "models"; readonly replica: string; readonly models: readonly string[] }
  | { readonly kind: "tick" };

export interface FoundReplica {
  readonly id: string;
  readonly app: string;
  readonly deployment: string;
  readonly version: string;
  readonly userConfig: string | undefined;
  /** The replica has not taken that configuration yet, or failed to. */
  readonly isMisconfigured: boolean;
  /** The user's code is busy with that configuration. */
  readonly isReconfiguring: boolean;
  readonly maxOngoing: number;
  readonly rank: number;
  readonly worldSize: number;
  /** The user's code has taken that rank. */
  readonly isRankTold: boolean;
  readonly gang: string | undefined;
  readonly nodeId: string;
  readonly pid: number;
  /** An earlier controller has told it to end: it takes no request. */
  readonly isDraining: boolean;
}

/** A replica to be started. */
export interface ReplicaStart {
  readonly id: string;
  readonly app: string;
  readonly deployment: string;
  readonly version: string;
  readonly rank: number;
  readonly worldSize: number;
  readonly userConfig: string | undefined;
  readonly maxOngoingRequests: number;
  readonly logging: LoggingConfig | undefined;
  readonly tracing: TracingConfig | undefined;
  readonly actorOptions: Readonly<Record<string, unknown>>;
  /** Nodes that have as many replicas of the deployment as they may. */
  readonly fullNodes: readonly string[];
  /** The replica's gang, with the ids of all members, and its place among them. */
  readonly gang: (GangConfig & { readonly id: string; readonly index: number; readonly members: readonly string[] }) | undefined;
  readonly placementGroupBundles: readonly Readonly<Record<string, number>>[] | undefined;
  readonly placementGroupBundleLabelSelector: readonly LabelSelector[] | undefined;
  readonly placementGroupStrategy: GangConfig["strategy"];
}

export type ServeEffect =
  | { readonly kind: "start"; readonly start: ReplicaStart }
  /** Nothing is sent there any more: wait until nothing is under way, at most so long, and end it. */
  | { readonly kind: "retire"; readonly replica: string; readonly withinMs: number }
  | { readonly kind: "kill"; readonly replica: string }
  /** Find out why a replica takes long to start. */
  | { readonly kind: "explain"; readonly replica: string }
  | { readonly kind: "reconfigure"; readonly replica: string; readonly settings: ReplicaSettings; readonly withinMs: number }
  | { readonly kind: "checkHealth"; readonly replica: string; readonly withinMs: number }
  /** The routes have changed. */
  | { readonly kind: "publishRoutes" }
  /** The replicas of a deployment have changed, as routers see them. */
  | { readonly kind: "publishReplicas"; readonly app: string; readonly deployment: string }
  /** A replica that ran has ended, and nobody wanted it. */
  | { readonly kind: "died"; readonly app: string; readonly deployment: string; readonly replica: string; readonly reason: string }
  | { readonly kind: "save"; readonly app: string }
  | { readonly kind: "forget"; readonly app: string };

/** Ray's words. */
export type ApplicationStatus = "NOT_STARTED" | "DEPLOYING" | "DEPLOY_FAILED" | "RUNNING" | "UNHEALTHY" | "DELETING";
export type DeploymentStatus = "UPDATING" | "HEALTHY" | "UNHEALTHY" | "DEPLOY_FAILED" | "UPSCALING" | "DOWNSCALING";
/** A replica that is told a new configuration runs; the REST API calls it UPDATING. */
export type ReplicaState = "STARTING" | "RUNNING" | "STOPPING";
