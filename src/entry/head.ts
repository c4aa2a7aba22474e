/**
 * The process of a cluster's head: the tables of all nodes behind one address.
 *
 * Joins the head with its links (`control/head-server.ts`) and its listener. It runs no user code and starts no worker; the machine that it is on is a node by a
 * daemon of its own.
 */
import { type NodeId, newProcessId } from "../base/ids.ts";
import { Head } from "../control/head.ts";
import { HeadServer } from "../control/head-server.ts";
import { listen } from "../platform/endpoint.ts";
import { randomHex } from "../platform/random.ts";
import { readParentLine } from "../platform/worker-process.ts";

export interface HeadConfiguration {
  /** By which it is told apart from the nodes. */
  headId: NodeId;
  token: string;
  /** Where it is to listen. */
  address: string;
}

const { configuration, send } = await readParentLine<HeadConfiguration>(() => process.exit(0));
process.title = "shoal head";
const { headId, token } = configuration;
const head = new Head({ nowMs: () => performance.now(), isOfDriver: false });
const processId = newProcessId(randomHex, headId);
const server = new HeadServer({ head, self: { nodeId: headId, processId, incarnation: randomHex(8) }, token });
const listener = await listen(configuration.address, (transport) => server.accept(transport));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(0));
send(listener.path);
