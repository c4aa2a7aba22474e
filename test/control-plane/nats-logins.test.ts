/**
 * A foreign NATS server, as `shoal start` uses it: over TLS that begins after the greeting, with a user and a password, with a file of
 * credentials.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { natsServerBinary } from "../../scripts/nats-server.mjs";
import { natsOf } from "../../src/ops/cli/options/nats-options.ts";
import { ClusterAuthority } from "../../src/runtime/nats/cluster-authority.ts";
import { type ControlPlane, openControlPlane } from "../../src/runtime/nats/open-control-plane.ts";
import { certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import { natsServerConfig } from "../../src/runtime/nats/server/nats-config.ts";
import type { NodeId } from "../../src/runtime/base/ids.ts";
import { useFolder } from "../integration/session.ts";
import { until } from "./nats-servers.ts";
import { describeNats } from "./planes.ts";

const folder = useFolder();
let server: ChildProcess | undefined;

afterEach(async () => {
  const ended = new Promise((resolve) => server?.once("exit", resolve));
  server?.kill("SIGKILL");
  await ended;
});

interface Wanted {
  readonly lines?: readonly string[];
  readonly authority?: ClusterAuthority;
}

/** Resolves with the port. */
async function start(name: string, { lines = [], authority }: Wanted): Promise<number> {
  const portsFolder = join(folder, `${name}-ports`);
  const config = natsServerConfig({
    name,
    host: "127.0.0.1",
    port: -1,
    folder: join(folder, name),
    portsFolder: folder,
    ...(authority !== undefined && { authority: authority.serverAuthority() }),
  });
  writeFileSync(join(folder, `${name}.conf`), `${config}${lines.join("\n")}\n`);
  server = spawn(natsServerBinary(), ["-c", join(folder, `${name}.conf`)], { stdio: "ignore" });
  expect(existsSync(portsFolder)).toBe(false);
  // The server creates the file and then writes it: a read between the two finds an empty or cut-off file.
  const written = (): string | undefined => {
    const file = readdirSync(folder).find((entry) => entry.endsWith(`_${server?.pid}.ports`));
    const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8").trimEnd();
    return text.endsWith("}") ? text : undefined;
  };
  await until(() => written() !== undefined, `${name} is ready`);
  const { nats } = JSON.parse(written() as string) as { nats: [string] };
  return Number(new URL(nats[0]).port);
}

/** Opens the control plane as a head does for its command line. */
async function open(url: string, files: { ca?: string; credentials?: string } = {}): Promise<ControlPlane> {
  const { kind: _kind, ...access } = natsOf({ "nats-url": url, "nats-ca": files.ca, "nats-credentials": files.credentials });
  return await openControlPlane({ ...access, kind: "nats", cluster: "logins", name: "test", connectTimeoutMs: 20_000 });
}

async function works(plane: ControlPlane): Promise<void> {
  await using _plane = plane;
  expect((await plane.store.transaction({ writes: [{ key: "a", value: new Uint8Array([1]) }] })).committed).toBe(true);
}

describeNats("somebody's own NATS", () => {
  test("a user and a password, over TLS that begins after the greeting", async () => {
    const authority = newAuthority({ nowMs: Date.now() });
    const { key, publicKey } = newNodeKey();
    const nodeId = "a".repeat(32) as NodeId;
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const ca = file("ca.pem", authority.ca);
    const certificate = certifyNode(authority, { nodeId, publicKey, isHead: true, hosts: ["127.0.0.1"], nowMs: Date.now() });
    const [cert, secret] = [file("cert.pem", certificate), file("key.pem", key)];
    const port = await start("tls", {
      lines: [
        'authorization { users: [{ user: "ann", password: "p:w" }] }',
        `tls { cert_file: ${JSON.stringify(cert)}, key_file: ${JSON.stringify(secret)}, timeout: 5 }`,
      ],
    });
    await works(await open(`tls://ann:p%3Aw@127.0.0.1:${port}`, { ca }));
    await expect(open(`tls://ann:wrong@127.0.0.1:${port}`, { ca })).rejects.toMatchObject({ reason: "wrong password" });
    // The system's authorities do not know it.
    await expect(open(`tls://ann:p%3Aw@127.0.0.1:${port}`)).rejects.toMatchObject({ reason: "wrong certificate" });
  });

  test("what is to be encrypted is not sent to a server that greets without TLS", async () => {
    const port = await start("plain", { lines: ['authorization { users: [{ user: "ann", password: "pw" }] }'] });
    await works(await open(`nats://ann:pw@127.0.0.1:${port}`));
    await expect(open(`tls://ann:pw@127.0.0.1:${port}`)).rejects.toThrow("Cannot");
  });

  test("a file of credentials", async () => {
    const authority = ClusterAuthority.open({ folder: join(folder, "keys"), cluster: "logins" });
    const port = await start("credentials", { authority });
    const { token, seed } = authority.headCredentials("head")();
    const text = (of: string): string =>
      `-----BEGIN NATS USER JWT-----\n${of}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
    const credentials = join(folder, "head.creds");
    writeFileSync(credentials, text(token));
    await works(await open(`nats://127.0.0.1:${port}`, { credentials }));
    await expect(open(`nats://127.0.0.1:${port}`)).rejects.toMatchObject({ code: "CONTROL_PLANE_UNAVAILABLE" });
    writeFileSync(credentials, "something else");
    await expect(open(`nats://127.0.0.1:${port}`, { credentials })).rejects.toThrow("is not a file of credentials");
  });
});
