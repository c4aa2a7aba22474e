/** The names under which Serve is found in a cluster. */

/** Where its actors, groups and records are. */
export const SERVE_NAMESPACE = "shoal.serve";
export const CONTROLLER_NAME = "SERVE_CONTROLLER";
/** Service of the controller that routers connect to. */
export const CONTROLLER_SERVICE = "serve.controller";
/** Service of a replica that proxies connect to. */
export const REQUEST_SERVICE = "serve.requests";

export function replicaActorName(id: string): string {
  return `SERVE_REPLICA::${id}`;
}
