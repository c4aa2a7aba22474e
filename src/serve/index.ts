/** `shoal/serve`: models and services behind one door. `import "shoal"` does not load it. */
import "./well-known-exports.ts";

export { type ConfigPlace, deployConfig, deployedConfig } from "./config/deploy-config.ts";
export { configSchema } from "./config/config-keys.ts";
export { redeployApplication, redeployConfig } from "./config/redeploy.ts";
export { buildConfig } from "./config/build-config.ts";
export { importApplication, type ImportTarget } from "./config/load-application.ts";
export { Application, type Deployable, Deployment, deployment, type Handle } from "./deployments/deployment.ts";
export type { AutoscalingContext } from "./controller/capacity/autoscaling-policy.ts";
export type { CandidateReplica, RequestRouter, RequestRouterClass, RequestToRoute } from "./routing/request-router.ts";
export type {
  AutoscalingOptions,
  AutoscalingPolicy,
  BackpressureConfig,
  DeploymentOptions,
  LoggingOptions,
  ReplicaActorOptions,
  TracingOptions,
} from "./deployments/deployment-options.ts";
export type { ControllerHealth, OpenedApi, ServeStatus } from "./controller/controller.ts";
export type { LoggingConfig } from "./replica/context/replica-log.ts";
export { getTraceHeaders, type TracingSetup } from "./tracing.ts";
export {
  BackPressureError,
  DeployFailedError,
  DeploymentUnavailableError,
  ListenError,
  RequestCancelledError,
  ServeConfigError,
} from "./errors.ts";
export { DeploymentResponse, DeploymentResponseGenerator } from "./handle/deployment-response.ts";
export type { HandleMethod, HandleOf, HandleOptionsInput as HandleOptions } from "./handle/handle-types.ts";
export type { ApiOptions } from "./rest/api-options.ts";
export type { GrpcOptions, GrpcService } from "./grpc/grpc-options.ts";
export { type GrpcContext, GrpcStatusError } from "./grpc/grpc-requests.ts";
export type { HttpOptions } from "./proxy/options/http-options.ts";
export { batch, type BatchedFunction, type BatchedStream, type BatchOptions, END_OF_STREAM, type EndOfStream } from "./replica/batch.ts";
export { getClientAddress } from "./replica/http/lazy-request.ts";
export { getMultiplexedModelId, multiplexed, type MultiplexedOptions } from "./replica/multiplexed.ts";
export { nodeHandler, type NodeListener } from "./replica/http/node-handler.ts";
export {
  ServerWebSocket,
  type SocketAcceptOptions,
  SocketCloseEvent,
  type SocketMessageEvent,
  type WebSocketMessage,
} from "./replica/http/server-websocket.ts";
export * as llm from "./llm/index.ts";
export { metrics } from "./metrics/user-metrics.ts";
export { type GangContext, getReplicaContext, type ReplicaContext } from "./replica/context/replica-context.ts";
export {
  controllerHealth,
  delete,
  getAppHandle,
  getDeploymentHandle,
  type HandlesOf,
  restApi,
  run,
  runMany,
  type RunOptions,
  type RunTarget,
  shutdown,
  start,
  type StartedServe,
  type StartOptions,
  status,
} from "./run.ts";
