/**
 * Addresses: where a process listens for direct calls, and how another one reaches it.
 *
 * An address is the path of a Unix domain socket, `tcp://host:port` for other machines, or `inprocess:<n>` for an end inside this process
 * (in-process mode). Callers of `listen` and `connect` need not know which; callers that know the node name it.
 */
import { isNetworkAddress } from "./network-address.ts";
import { connectTcp, type ConnectOptions, listenTcp, type ListenOptions } from "./tcp-transport.ts";
import { type Listener, type Transport, connectSocket, listenSocket, loopbackPair } from "./transport.ts";

const IN_PROCESS = "inprocess:";
const acceptors = new Map<string, (transport: Transport) => void>();
let nextNumber = 1;

export function newInProcessAddress(): string {
  nextNumber += 1;
  return IN_PROCESS + nextNumber;
}

/** The listener's `path` is the address that others connect to: for port 0 with the port that the system chose. */
export async function listen(address: string, onTransport: (transport: Transport) => void, options: ListenOptions = {}): Promise<Listener> {
  if (isNetworkAddress(address)) return await listenTcp(address, onTransport, options);
  if (!address.startsWith(IN_PROCESS)) return await listenSocket(address, onTransport);
  acceptors.set(address, onTransport);
  return { path: address, setKeepsProcessAlive: () => {}, close: () => acceptors.delete(address) };
}

/** An empty address is that of a process that has just gone: to the system it would be a port of this machine. */
export async function connect(address: string, options: ConnectOptions = {}): Promise<Transport> {
  if (address === "") throw new Error("the process has ended");
  if (isNetworkAddress(address)) return await connectTcp(address, options);
  if (!address.startsWith(IN_PROCESS)) return await connectSocket(address);
  const accept = acceptors.get(address);
  if (accept === undefined) throw new Error(`nobody listens at ${address}`);
  const [near, far] = loopbackPair();
  accept(far);
  return near;
}
