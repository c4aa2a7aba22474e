/** Errors of connecting to an unusable NATS, and streams of the right name that another program made. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ControlPlaneUnavailableError } from "../../src/runtime/control-plane/control-plane-errors.ts";
import { connectNats } from "../../src/runtime/nats/nats-link.ts";
import { NatsStore } from "../../src/runtime/nats/nats-store.ts";
import { StreamApi } from "../../src/runtime/nats/stream-api.ts";
import { NatsServers, until } from "./nats-servers.ts";
import { describeNats } from "./planes.ts";

describeNats("a link to NATS", () => {
  let servers: NatsServers;
  beforeAll(async () => {
    servers = await NatsServers.start({ token: "right" });
  });
  afterAll(() => servers.close());

  const open = (token?: string) =>
    connectNats({ servers: servers.urls, name: "test", connectTimeoutMs: 30_000, ...(token !== undefined && { token }) });

  test("is made with the token, and refused without it or with another, at once", async () => {
    await (await open("right")).close();
    const started = performance.now();
    for (const token of ["wrong", undefined]) {
      await expect(open(token)).rejects.toMatchObject({ reason: "wrong token", code: "CONTROL_PLANE_UNAVAILABLE" });
    }
    expect(performance.now() - started).toBeLessThan(25_000);
  });

  test("to nobody fails after its time and says where it looked", async () => {
    const nobody = connectNats({ servers: ["nats://127.0.0.1:1"], name: "test", connectTimeoutMs: 300 });
    await expect(nobody).rejects.toMatchObject({ reason: "unreachable", message: expect.stringContaining("127.0.0.1:1") as string });
  });

  test("finds a stream that was made otherwise, and says what is wrong with it", async () => {
    await using link = await open("right");
    const api = new StreamApi({ link, stream: "KV_shoal_x", timeoutMs: 20_000 });
    await api.call("STREAM.CREATE.KV_shoal_x", {
      name: "KV_shoal_x",
      subjects: ["$KV.shoal_x.>"],
      allow_direct: true,
      max_msgs_per_subject: 1,
    });
    await expect(NatsStore.open(link, { cluster: "x" })).rejects.toThrow(/its allow_direct is true and has to be false/);
    await expect(NatsStore.open(link, { cluster: "y", replicas: 3 })).rejects.toThrow(ControlPlaneUnavailableError);
  });

  test("a store keeps what it holds when its server is killed and started again", async () => {
    await using link = await open("right");
    const store = await NatsStore.open(link, { cluster: "kept" });
    const write = { key: "a", value: new Uint8Array([7]) };
    const written = await store.transaction({ writes: [write] });
    await servers.kill(0);
    await servers.restart(0);
    expect(await store.get("a")).toMatchObject({ value: Buffer.from([7]), revision: written.committed && written.revisions[0] });
  });
});

describeNats("a link to one of several servers of NATS", () => {
  test("goes to another one when its own stands still, however much is on the way there", { timeout: 60_000 }, async () => {
    await using servers = await NatsServers.start({ count: 3 });
    await using link = await connectNats({ servers: servers.urls, name: "test" });
    const serverName = (): string | undefined => link.connection.info?.server_name;
    const before = serverName() ?? "";
    servers.pause(servers.indexOf(before));
    // More than the system keeps for a connection that nobody reads from.
    for (let count = 0; count < 20; count += 1) link.connection.publish("x", new Uint8Array(1_000_000));
    await until(() => serverName() !== undefined && serverName() !== before && link.isConnected, "it has another server", 45_000);
    await link.connection.flush();
    servers.resume(servers.indexOf(before));
  });
});
