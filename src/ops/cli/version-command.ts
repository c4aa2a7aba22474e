/** `shoal version`: the installed version, for bug reports and for programs that check it. */
import { installedNatsServer } from "../../runtime/nats/server/nats-install.ts";
import { findNatsServer, NatsServerNotFoundError, type NatsServerBinary } from "../../runtime/nats/server/nats-server-binary.ts";
import { packageFolder, packageVersion } from "../../runtime/os/own-files.ts";
import type { Terminal } from "../../runtime/os/terminal.ts";
import { type Command, defineCommand } from "./command.ts";

export const versionCommand: Command = defineCommand({
  name: "version",
  asOptions: ["--version", "-v"],
  summary: "print the versions of Shoal, Node and the nats-server that a head would run",
  options: { json: { help: "print JSON" } },
  run: async ({ options, terminal }) => {
    const nats = await natsServerHere(terminal);
    const facts = {
      shoal: packageVersion(),
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
      nats: nats ?? null,
    };
    if (options.json) return terminal.print(JSON.stringify(facts));
    terminal.print(`shoal ${facts.shoal}, Node ${facts.node}, ${facts.platform}`);
    terminal.print(
      nats === undefined
        ? "nats-server: none; only a head of a cluster needs one (`shoal nats install`)"
        : `nats-server ${nats.version}: ${nats.path}`,
    );
  },
});

async function natsServerHere({ environment, workingDirectory }: Terminal): Promise<NatsServerBinary | undefined> {
  try {
    return await findNatsServer({ environment, from: [workingDirectory, packageFolder()], installed: installedNatsServer(environment) });
  } catch (error) {
    if (error instanceof NatsServerNotFoundError) return undefined;
    throw error;
  }
}
