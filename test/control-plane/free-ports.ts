/**
 * Ports for servers that have to know them before they listen.
 *
 * Leaves out the ports that the system gives to listeners at port 0 and to outgoing connections. On a busy machine another process could
 * get one between the choice and the server's listening, or while the server is killed. Another chooser of free ports may still take the
 * same one, and tries again.
 */
import { createServer } from "node:net";

/** Below what systems give away by themselves: Linux from 32,768 on, others from 49,152. */
const FIRST = 20_000;
const COUNT = 12_000;
const TRIES_MAX = 200;

export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries > TRIES_MAX) throw new Error(`no ${count} ports of ${FIRST} to ${FIRST + COUNT} are free`);
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) ports.add(port);
  }
  return Array.from(ports);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const listener = createServer();
    listener.once("error", () => resolve(false));
    listener.listen(port, "127.0.0.1", () => listener.close(() => resolve(true)));
  });
}
