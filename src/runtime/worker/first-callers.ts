/**
 * The worker's end of first calls: each is served as if its caller had connected, over a connection that the daemon passes on.
 *
 * Owned by the worker host, which serves the connections. One ends with the answer to its call, or with the caller.
 */
import type { ProcessId } from "../base/ids.ts";
import type { Connection } from "../rpc/connection.ts";
import { connectionOver, RelayTransport } from "../rpc/relay-transport.ts";
import { MESSAGE } from "../wire/messages.ts";

interface FirstCaller {
  readonly processId: ProcessId;
  readonly link?: number | undefined;
}

export class FirstCallers {
  readonly #daemon: Connection;
  readonly #open = new Map<string, RelayTransport>();

  constructor(daemon: Connection) {
    this.#daemon = daemon;
  }

  /** @param serve takes the connection before anything is read */
  came({ processId, link = 0 }: FirstCaller, calls: Uint8Array, serve: (connection: Connection) => void): void {
    const transport = new RelayTransport();
    const key = keyOf(processId, link);
    this.#open.set(key, transport);
    transport.open((chunk) => {
      if (chunk.length === 0) this.#open.delete(key);
      this.#daemon.send(MESSAGE.RELAYED, [processId, link], { parts: [chunk] });
    });
    const connection = connectionOver(transport);
    // Frames to the daemon outlive this process, so each goes there at once.
    connection.gathersNothing = true;
    connection.onBeforeFlush = () => this.#daemon.flush();
    serve(connection);
    transport.arrived(calls);
  }

  arrived(caller: ProcessId, link: number, chunk: Uint8Array): void {
    const key = keyOf(caller, link);
    const transport = this.#open.get(key);
    if (chunk.length === 0) this.#open.delete(key);
    transport?.arrived(chunk);
  }
}

function keyOf(caller: ProcessId, link: number): string {
  return `${caller} ${link}`;
}
