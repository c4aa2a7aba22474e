/**
 * Addresses in a simulated world: stands for `src/runtime/os/network/endpoint.ts`, which `hooks.ts` replaces by it.
 *
 * The running process is the one that listens or connects. A connection across a cut is made when the cut ends. Owns which process listens
 * where; an address ends with its process.
 */
import { currentProcess } from "./ambient.ts";
import type { Listener, Transport } from "../src/runtime/os/network/transport.ts";
import type { SimulatedProcess } from "./world.ts";

interface Listening {
  readonly process: SimulatedProcess;
  readonly onTransport: (transport: Transport) => void;
}

const listening = new Map<string, Listening>();
let nextNumber = 1;

export function newInProcessAddress(): string {
  nextNumber += 1;
  return `simulated:${nextNumber}`;
}

/** An address that ends with `:0` gets a free port. */
export function listen(address: string, onTransport: (transport: Transport) => void): Promise<Listener> {
  const process = currentProcess() as SimulatedProcess;
  const path = address.endsWith(":0") ? newInProcessAddress() : address;
  listening.set(path, { process, onTransport });
  return Promise.resolve({ path, setKeepsProcessAlive: () => {}, close: () => listening.delete(path) });
}

export async function connect(address: string): Promise<Transport> {
  const from = currentProcess() as SimulatedProcess;
  const { world } = from;
  const known = listening.get(address);
  if (known !== undefined) {
    const cutMs = world.cutUntilMs(from.machine, known.process.machine);
    if (cutMs > world.nowMs) await new Promise<void>((resolve) => from.schedule(cutMs - world.nowMs + world.delayMs(), resolve));
  }
  if (address === "" || known === undefined || !known.process.isAlive || listening.get(address) !== known)
    throw new Error(`nobody listens at ${address}`);
  const [near, far] = world.connect(from, known.process);
  known.process.run(() => known.onTransport(far));
  return near;
}

/** For the run that begins. */
export function closeAll(): void {
  listening.clear();
}
