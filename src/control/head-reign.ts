/**
 * The life of a head's process: a standby, then a leading head, then a standby again.
 *
 * While it leads it has a server for the nodes and tables that are kept; when it leads no more both are dropped, with all links, and nodes that come are turned away until they find the one
 * that leads. A head without rivals leads at once, and again as soon as it can. Made by the head's entry point.
 */
import type { NodeId, ProcessId } from "../base/ids.ts";
import type { Transport } from "../platform/transport.ts";
import { HeadElection } from "./head-election.ts";
import type { HeadSecurity } from "./head-security.ts";
import { HeadServer } from "./head-server.ts";
import { KeptHead } from "./kept-head.ts";
import type { ControlPlane } from "./open-control-plane.ts";

export interface HeadReignOptions {
  readonly plane: ControlPlane;
  /** Where nodes reach it. */
  readonly address: string;
  readonly self: { readonly nodeId: NodeId; readonly processId: ProcessId };
  readonly token: string;
  readonly security: HeadSecurity | undefined;
  readonly hasRivals: boolean;
  /** For each reign another, so that nodes register anew. */
  readonly newIncarnation: () => string;
  readonly nowMs: () => number;
  readonly onError?: (error: unknown) => void;
}

export class HeadReign {
  readonly #election: HeadElection;
  readonly #leads = Promise.withResolvers<void>();
  #server: HeadServer | undefined;

  constructor(options: HeadReignOptions) {
    const { plane, address, self, token, security, hasRivals, newIncarnation, nowMs, onError } = options;
    this.#election = new HeadElection({
      id: self.nodeId,
      address,
      store: plane.store,
      bus: plane.bus,
      hasRivals,
      lead: async (leadership, election) => {
        const onLost = (error: Error): void => election.stepDown(error.message);
        const kept = await KeptHead.open({ store: plane.store, leadership, nowMs, onLost });
        const server = new HeadServer({
          kept,
          self: { ...self, incarnation: newIncarnation() },
          token,
          security,
          hasRivals,
          isConnected: plane.isConnected,
          mayAnswer: () => election.mayAnswer,
          nowMs,
        });
        this.#server = server;
        this.#leads.resolve();
        return {
          end: (reason) => {
            this.#server = undefined;
            kept.end();
            server.close(reason);
          },
        };
      },
      ...(onError && { onError }),
    });
  }

  /** While it leads. */
  get server(): HeadServer | undefined {
    return this.#server;
  }

  /** Resolves when it leads for the first time. */
  get leads(): Promise<void> {
    return this.#leads.promise;
  }

  accept(transport: Transport): void {
    if (this.#server === undefined) transport.end();
    else this.#server.accept(transport);
  }

  close(): void {
    this.#election.close();
  }
}
