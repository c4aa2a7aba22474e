/**
 * The code of an application on its way to the controller.
 *
 * Made where the application is built, by a program or by a worker for the REST API. The controller keeps it as bytes and never loads what is of replicas.
 */
import type { CodeSource } from "./replica/replica.ts";

/** The code of an application: its deployments, policies and routers. */
export interface DeployedCode {
  readonly code: readonly (readonly [deployment: string, code: CodeSource])[];
  /** By id: policies and routers of the user's. */
  readonly functions: readonly (readonly [id: string, code: Uint8Array])[];
}
