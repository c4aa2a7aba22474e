/** Holds how a head finds the servers that keep a store, and the answers of their addresses when they live, are killed, or stand still. */
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { ControlPlaneUnavailableError } from "../../src/runtime/control-plane/control-plane-errors.ts";
import { connectNats } from "../../src/runtime/nats/nats-link.ts";
import { NatsStore } from "../../src/runtime/nats/nats-store.ts";
import { type NatsWord, natsWordAt } from "../../src/runtime/nats/server/nats-greeting.ts";
import { NatsServers, until } from "./nats-servers.ts";
import { describeNats } from "./planes.ts";

const WITHIN_MS = 1_500;

function noAnswer(error: unknown): undefined {
  if (!(error instanceof ControlPlaneUnavailableError)) throw error;
}

function placesOf({ urls }: NatsServers): { name: string; address: string }[] {
  return urls.map((url, index) => ({ name: `n${index}`, address: url.replace("nats:", "tcp:") }));
}

describeNats("the servers of a store", () => {
  test("of three all are found by the address of one, and one that is away is known from before", { timeout: 60_000 }, async () => {
    await using servers = await NatsServers.start({ count: 3, token: "secret" });
    const places = placesOf(servers);
    await using link = await connectNats({ servers: servers.urls, name: "test", token: "secret" });
    await using store = await NatsStore.open(link, { replicas: 3 });
    const [first = ""] = servers.urls;
    const find = async (known: { name: string; address: string }[]): Promise<unknown> => {
      const found = await store.servers([first.replace("//", "//secret@")], known);
      return found?.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    };
    await until(async () => (await find([])) !== undefined, "all have told of each other");
    expect(await find([])).toEqual(places);
    await servers.kill(2);
    // The killed server may have led the store, or have been the link's own: the store answers when the others have agreed on a leader.
    const isThere = async (): Promise<boolean> => (await find(places).catch(noAnswer)) !== undefined;
    await until(isThere, "the store answers again");
    expect(await find(places)).toEqual(places);
    const elsewhere = places.map(({ name, address }, index) => ({ name: index === 2 ? "n7" : name, address }));
    expect(await find(elsewhere)).toBeUndefined();
  });

  test("of one it is the one, whatever keeps its place", { timeout: 60_000 }, async () => {
    await using servers = await NatsServers.start();
    await using link = await connectNats({ servers: servers.urls, name: "test" });
    await using store = await NatsStore.open(link);
    expect(await store.servers(servers.urls, [])).toEqual(placesOf(servers));
  });

  test("greet, refuse, or are silent; another server in the same place is no word of them", { timeout: 60_000 }, async () => {
    await using servers = await NatsServers.start({ token: "secret" });
    const [{ address } = { address: "" }] = placesOf(servers);
    const word = (name = "n0"): Promise<NatsWord | undefined> => natsWordAt(address, { name, withinMs: WITHIN_MS });
    // A machine that is busy may keep a server from greeting in time.
    await until(async () => (await word()) === "lives", "it greets");
    await until(async () => (await word("n1")) === undefined, "it greets as another one");
    servers.pause(0);
    // A signal takes its time, too.
    await until(async () => (await word()) === "silent", "it stands still");
    servers.resume(0);
    await until(async () => (await word()) === "lives", "it greets again");
    await servers.kill(0);
    expect(await word()).toBe("refuses");
  });
});

test("who takes a connection and ends it has said nothing", async () => {
  const listener = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as { port: number };
  expect(await natsWordAt(`tcp://127.0.0.1:${port}`, { name: "n0", withinMs: WITHIN_MS })).toBeUndefined();
  listener.close();
});
