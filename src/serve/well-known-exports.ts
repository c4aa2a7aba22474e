/** Registers everything of `shoal/serve` that travels by name: exports that deployed code imports, and Serve's own actors. */
import { registerExports } from "../core/internal.ts";
import { buildConfigApplication } from "./config/build-in-task.ts";
import { prepareWorker } from "./config/redeploy.ts";
import { Controller } from "./controller/controller.ts";
import { deployment } from "./deployments/deployment.ts";
import { BackPressureError, DeployFailedError, DeploymentUnavailableError, ListenError, RequestCancelledError } from "./errors.ts";
import { GrpcStatusError } from "./grpc/grpc-requests.ts";
import { adoptHandle } from "./handle/deployment-handle.ts";
import * as llm from "./llm/index.ts";
import { LLMEngineError, LLMRequestError } from "./llm/llm-errors.ts";
import { LLMServer } from "./llm/llm-server.ts";
import { OpenAIIngress } from "./llm/openai/openai-ingress.ts";
import { Counter, Gauge, Histogram, metrics } from "./metrics/user-metrics.ts";
import { ServeProxy } from "./proxy/proxy.ts";
import { batch, END_OF_STREAM } from "./replica/batch.ts";
import { getClientAddress } from "./replica/http/lazy-request.ts";
import { getMultiplexedModelId, multiplexed } from "./replica/multiplexed.ts";
import { nodeHandler } from "./replica/http/node-handler.ts";
import { Replica } from "./replica/replica.ts";
import { getReplicaContext } from "./replica/context/replica-context.ts";
import { ServerWebSocket, SocketCloseEvent } from "./replica/http/server-websocket.ts";
import { getTraceHeaders } from "./tracing.ts";
import { getAppHandle, getDeploymentHandle, run, shutdown, start, status } from "./run.ts";

registerExports("shoal/serve", {
  adoptHandle,
  BackPressureError,
  batch,
  buildConfigApplication,
  Controller,
  Counter,
  DeployFailedError,
  deployment,
  DeploymentUnavailableError,
  END_OF_STREAM,
  Gauge,
  getAppHandle,
  getClientAddress,
  getDeploymentHandle,
  getMultiplexedModelId,
  getReplicaContext,
  getTraceHeaders,
  GrpcStatusError,
  Histogram,
  ListenError,
  llm,
  LLMEngineError,
  LLMRequestError,
  LLMServer,
  metrics,
  multiplexed,
  nodeHandler,
  OpenAIIngress,
  prepareWorker,
  Replica,
  RequestCancelledError,
  run,
  ServeProxy,
  ServerWebSocket,
  shutdown,
  SocketCloseEvent,
  start,
  status,
});
