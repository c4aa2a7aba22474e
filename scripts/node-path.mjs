/**
 * Prints the path of a pinned Node binary and installs it when it is missing: `node scripts/node-path.mjs 22`.
 *
 * For the tests that run programs under every supported Node, and for trying one by hand.
 */
import { nodeBinary, SetupError } from "./setup.mjs";

try {
  process.stdout.write(`${nodeBinary(Number(process.argv[2] ?? 24))}\n`);
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`shoal: ${error.message}\n`);
  process.exit(1);
}
