// Runs unit tests of the libraries with one mutant in place of the code: SHOAL_MUTANT names its row of `library-mutants.ts`. `main.ts` begins such runs.
// The cache of transformed modules is off: it does not know of mutants, and would give them to other runs.
import { resolve } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { LIBRARY_MUTANTS } from "./library-mutants.ts";

const root = resolve(import.meta.dirname, "../..");
const mutant = LIBRARY_MUTANTS[process.env["SHOAL_MUTANT"] ?? ""];
const mutated = mutant && resolve(root, "src", mutant.file);

const config: ViteUserConfig = defineConfig({
  root,
  plugins: [
    {
      name: "shoal-mutant",
      enforce: "pre",
      transform: (code, id) => (mutant !== undefined && id === mutated ? code.replace(mutant.text, () => mutant.becomes) : undefined),
    },
  ],
  test: { include: ["src/**/*.test.ts"], testTimeout: 60_000, bail: 1, reporters: ["dot"], fsModuleCache: false },
});

export default config;
