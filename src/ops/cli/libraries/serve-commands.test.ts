/** Tests words of `shoal serve start` that are refused before a cluster is contacted. */
import { expect, test } from "vitest";
import type { Terminal } from "../../../runtime/os/terminal.ts";
import { runCommandLine } from "../run-command-line.ts";
import { serveCommands } from "./serve-commands.ts";

test.each([
  [["--proxy-location", "everyNode"], '--proxy-location takes EveryNode, HeadOnly or Disabled: received "everyNode"'],
  [
    ["--grpc-servicer-functions", "a.proto:x.A", "--grpc-servicer-functions", "user.shop:add_ShopServicer_to_server"],
    '--grpc-servicer-functions takes a .proto file and a service of it, such as shop.proto:shop.v1.Shop: received "user.shop:add_ShopServicer_to_server"',
  ],
  [["--grpc-servicer-functions", "a.proto:x.A", "--grpc-port", "99999"], '--grpc-port takes a number from 0 to 65535: received "99999"'],
  [["--grpc-port", "9000"], "--grpc-port and --grpc-disable-reflection need --grpc-servicer-functions"],
])("serve start %j is refused", async (words, message) => {
  const told: string[] = [];
  const terminal: Terminal = {
    print: () => {},
    write: () => Promise.resolve(true),
    tell: (line) => void told.push(line),
    environment: {},
    workingDirectory: "/w",
  };
  expect(await runCommandLine(["serve", "start", ...words], serveCommands, terminal)).toBe(2);
  expect(told).toEqual([expect.stringContaining(`Cannot run shoal serve start: ${message}`)]);
});
