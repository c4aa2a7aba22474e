/** Errors of Serve. They keep their class in other processes; each has a code, a reason and, where there is one, a remedy. */
import { ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";

/** A deployment has as many requests waiting as `maxQueuedRequests` allows. HTTP clients get 503, or what `backpressure` says. */
export class BackPressureError extends ShoalError {
  static override readonly code = "BACK_PRESSURE";
}

/** The client went away, the time of the request was over, or `cancel()` was called. */
export class RequestCancelledError extends ShoalError {
  static override readonly code = "REQUEST_CANCELLED";
}

/** There is no such deployment or application, or it was deleted while the request waited. */
export class DeploymentUnavailableError extends ShoalError {
  static override readonly code = "DEPLOYMENT_UNAVAILABLE";
}

/** An application did not come up: a constructor threw, a health check failed, or there was no room. `cause` is what a replica threw last. */
export class DeployFailedError extends ShoalError {
  static override readonly code = "DEPLOY_FAILED";
}

/** A configuration cannot be used. `details` has the file, the line and the key. */
export class ServeConfigError extends ShoalError {
  static override readonly code = "SERVE_CONFIG";
}

/** A proxy, or the REST API, cannot listen where it is to. `cause` is the system's error. */
export class ListenError extends ShoalError {
  static override readonly code = "LISTEN_FAILED";
}

for (const errorClass of [
  BackPressureError,
  RequestCancelledError,
  DeploymentUnavailableError,
  DeployFailedError,
  ServeConfigError,
  ListenError,
])
  registerErrorClass(errorClass);
