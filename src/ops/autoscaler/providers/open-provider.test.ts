/** External providers: a module without a provider is refused, and a provider's check refuses a cluster file. */
import { describe, expect, test } from "vitest";
import { readClusterConfig } from "../config/read-cluster-config.ts";
import type { NodeProvider } from "../provider.ts";
import { openProvider } from "./open-provider.ts";

const FILE = `
cluster_name: demo
provider: { type: external, module: ./mine.js, zone: a }
head_node_type: head
available_node_types:
  head: { resources: { CPU: 1 } }
  cpu: { resources: { CPU: 1 }, max_workers: 1, node_config: { size: 3 } }
`;
const METHODS = `list: async () => [], launch: async () => [], terminate: async () => {}, close: async () => {}`;

function open(code: string): Promise<NodeProvider> {
  return openProvider({
    config: readClusterConfig(FILE, "c.yaml"),
    context: { clusterName: "demo", headAddress: "h:1" },
    source: "c.yaml",
    local: () => {
      throw new Error("not asked for");
    },
    moduleUrl: () => `data:text/javascript,${encodeURIComponent(code)}`,
  });
}

describe("a module", () => {
  test("gets the file's keys and the cluster, and gives a provider, or a promise of one", async () => {
    const provider = await open(
      `export default async (config, context) => ({ ${METHODS}, check() {}, list: async () => [JSON.stringify([config, context])] })`,
    );
    expect(await provider.list()).toEqual([JSON.stringify([{ zone: "a" }, { clusterName: "demo", headAddress: "h:1" }])]);
  });

  test.each([
    ["export const nothing = 1", "its default export is no function"],
    [`export default () => ({ ${METHODS} })`, "the provider has no method check"],
    ["throw new Error('no licence')", "no licence"],
  ])("%s is refused", async (code, reason) => {
    await expect(open(code)).rejects.toThrow(`Cannot read c.yaml: provider.module: ./mine.js gives no provider: ${reason}.`);
  });

  test("refuses a node_config, with its key", async () => {
    const code = `export default () => ({ ${METHODS}, check: (config, problem) => { if (config.size !== "s") problem("size", "s is needed"); } })`;
    await expect(open(code)).rejects.toThrow("Cannot read c.yaml: available_node_types.cpu.node_config.size: s is needed.");
  });
});
