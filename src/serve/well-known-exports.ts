/** Everything of `shoal/serve` that travels by name: what users import in code that they deploy, and the actors that Serve is made of. */
import { registerExports } from "../core/internal.ts";
import { Controller } from "./controller/controller.ts";
import { deployment } from "./deployment.ts";
import { BackPressureError, DeployFailedError, DeploymentUnavailableError, RequestCancelledError } from "./errors.ts";
import { adoptHandle } from "./handle/deployment-handle.ts";
import { Proxy } from "./proxy/proxy.ts";
import { Replica } from "./replica/replica.ts";
import { getReplicaContext } from "./replica/replica-context.ts";
import { getAppHandle, getDeploymentHandle, run, shutdown, start, status } from "./run.ts";

registerExports("shoal/serve", {
  adoptHandle,
  BackPressureError,
  Controller,
  DeployFailedError,
  deployment,
  DeploymentUnavailableError,
  getAppHandle,
  getDeploymentHandle,
  getReplicaContext,
  Proxy,
  Replica,
  RequestCancelledError,
  run,
  shutdown,
  start,
  status,
});
