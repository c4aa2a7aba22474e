/**
 * Measures a plain TCP connection between two processes of this machine: the upper bound for any transfer between nodes.
 *
 * The sender is a separate process, so that both ends have the same share as two nodes. The sender writes the same chunk again and again,
 * the receiver counts.
 */
import { spawn } from "node:child_process";
import net, { type AddressInfo } from "node:net";

const SENDER = `
const [port, sizeBytes, chunkBytes] = process.argv.slice(1).map(Number);
const chunk = Buffer.alloc(chunkBytes, 7);
const socket = require("node:net").connect({ host: "127.0.0.1", port }, () => {
  let left = sizeBytes;
  const more = () => {
    while (left > 0) {
      const size = Math.min(left, chunkBytes);
      left -= size;
      if (!socket.write(chunk.subarray(0, size))) { socket.once("drain", more); return; }
    }
    socket.end();
  };
  more();
});
`;

/** The best of five: neighbours can only make it slower. */
export async function plainSocketBytesPerSecond(options: { sizeBytes: number; chunkBytes: number }): Promise<number> {
  let best = 0;
  for (let round = 0; round < 5; round++) best = Math.max(best, await once(options));
  return best;
}

function once({ sizeBytes, chunkBytes }: { sizeBytes: number; chunkBytes: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => {
      let received = 0;
      let startedAtMs = 0;
      socket.on("data", (chunk: Buffer) => {
        if (received === 0) startedAtMs = performance.now();
        received += chunk.length;
      });
      socket.on("error", reject);
      socket.on("end", () => {
        server.close();
        resolve((received * 1000) / (performance.now() - startedAtMs));
      });
    });
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      spawn(process.execPath, ["-e", SENDER, String(port), String(sizeBytes), String(chunkBytes)], { stdio: "inherit" }).on(
        "error",
        reject,
      );
    });
  });
}
