/**
 * The code of an application on its way to the controller.
 *
 * The process that builds the application makes it: a program, or a worker for the REST API. The controller keeps the bytes and never loads replicas' code.
 */
import type { CodeSource } from "../replica/replica.ts";

/** The code of an application: its deployments, policies and routers. */
export interface DeployedCode {
  readonly code: readonly (readonly [deployment: string, code: CodeSource])[];
  /** By id: policies and routers of the user's. */
  readonly functions: readonly (readonly [id: string, code: Uint8Array])[];
}
