/**
 * Owns a NATS server, to be killed by a test: starts the server with the settings in its argument, prints the server's process number, and
 * waits.
 */
import { NatsProcess, type NatsProcessOptions } from "../../src/runtime/nats/server/nats-process.ts";

const server = await NatsProcess.start(JSON.parse(process.argv[2] ?? "") as NatsProcessOptions);
process.stdout.write(`${server.pid}\n`);
setInterval(() => {}, 60_000);
