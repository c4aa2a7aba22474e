/** The interface of users' routers: arguments and results. No code. */

/** A replica that has room. */
export interface CandidateReplica {
  readonly id: string;
  readonly nodeId: string;
  /** Models that it has loaded. */
  readonly models: readonly string[];
  /** Requests that are under way there, as far as this process knows. */
  readonly ongoing: number;
}

/** A request that is to be placed. */
export interface RequestToRoute {
  /** Empty where none was asked for. */
  readonly modelId: string;
  /** Empty where the request belongs to none. */
  readonly sessionId: string;
  /** Name of the method, or the method of HTTP. */
  readonly method: string;
}

/**
 * Chooses replicas. It is made once in each process that sends requests of the deployment and is asked for every request, so it is quick and waits for nothing.
 *
 * @example
 * class Fullest implements serve.RequestRouter {
 *   chooseReplicas(_request: serve.RequestToRoute, candidates: readonly serve.CandidateReplica[]) {
 *     return [...candidates].sort((a, b) => b.ongoing - a.ongoing);
 *   }
 * }
 */
export interface RequestRouter {
  /** @returns those that may have it, the best first; with none it waits until something ends */
  chooseReplicas(request: RequestToRoute, candidates: readonly CandidateReplica[]): readonly CandidateReplica[];
}

/** The class of a router; its constructor gets `requestRouterArgs` of the deployment. */
export type RequestRouterClass = new (args?: any) => RequestRouter;
