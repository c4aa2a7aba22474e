/**
 * Networks that are cut: hosts that do not hear each other notice nothing, until they hear each other again.
 *
 * Each end is a separate process, as faults strike processes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { networkFaultsEnvironment, type Silence, writeSilences } from "../../src/runtime/os/network/network-faults.ts";
import { until, useFolder } from "./session.ts";

const NEAR = "127.0.0.11";
const FAR = "127.0.0.12";
/** For so long nothing is to be heard. */
const QUIET_MS = 200;
const folder = useFolder();

/** Sends each input line to the other end, and prints each line that it hears. */
const PROGRAM = `
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { connect, listen } from ${JSON.stringify(new URL("../../src/runtime/os/network/endpoint.ts", import.meta.url).href)};
const [kind, address] = process.argv.slice(1);
const print = (line) => process.stdout.write(line + "\\n");
let transport;
const take = (taken) => {
  transport = taken;
  let heard = "";
  transport.onChunk = (chunk) => {
    heard += chunk;
    for (let end = heard.indexOf(";"); end >= 0; end = heard.indexOf(";")) {
      print("heard " + heard.slice(0, Math.min(end, 20)));
      heard = heard.slice(end + 1);
    }
  };
  transport.onClose = (reason) => print("closed");
};
if (kind === "listen") {
  const listener = await listen(address, (taken) => { print("accepted from " + taken.remoteAddress); take(taken); });
  print("at " + listener.path);
}
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "connect") connect(address).then((taken) => { take(taken); print("connected"); transport.write(Buffer.from("hello;")); }, (error) => print(error.message));
  else if (line === "destroy") transport.destroy();
  else if (line === "end") transport.end();
  else if (line.startsWith("stall ")) setTimeout(() => { print("stalls"); while (!existsSync(line.slice(6))); });
  else if (line.startsWith("tell ")) { transport.write(Buffer.from(line.slice(5) + ";")); print("has told " + line.slice(5)); }
  else transport.write(Buffer.from(line + ";"));
}
`;

class End {
  readonly lines: string[] = [];
  readonly child: ChildProcess;
  constructor(host: string, file: string, ...args: string[]) {
    const env = { ...process.env, ...networkFaultsEnvironment({ host, file }) };
    this.child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", PROGRAM, ...args], {
      env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.child.stdout?.on("data", (chunk: Buffer) => this.lines.push(...chunk.toString().split("\n").slice(0, -1)));
  }
  say(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }
  async prints(line: string): Promise<void> {
    await until(() => this.lines.some((printed) => printed.includes(line)), `"${line}" among ${this.lines.join(", ")}`);
  }
}

describe.skipIf(process.platform !== "linux")("two processes", () => {
  let near: End;
  let far: End;
  let file: string;
  let count = 0;
  const cut = (...silences: Silence[]): Promise<void> => writeSilences(file, silences);
  const quietly = async (): Promise<void> => {
    const before = [near.lines.length, far.lines.length];
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    expect([near.lines.length, far.lines.length]).toEqual(before);
  };

  beforeEach(async () => {
    count += 1;
    file = join(folder, `network-${count}`);
    await writeSilences(file, []);
    far = new End(FAR, file, "listen", `tcp://${FAR}:0`);
    await far.prints("at tcp");
    near = new End(NEAR, file, "connect", far.lines[0]?.slice(3) ?? "");
  });
  afterEach(() => {
    near.child.kill();
    far.child.kill();
  });

  test("that are cut hear nothing, not even the other's end, until they hear again", async () => {
    near.say("connect");
    await far.prints(`accepted from ${NEAR}`);
    await far.prints("heard hello");
    await cut([NEAR, FAR], [FAR, NEAR]);
    near.say("one");
    far.say("two");
    await quietly();
    near.say("end");
    await quietly();
    await cut();
    await far.prints("heard one");
    await far.prints("closed");
    await near.prints("heard two");
  });

  test("a process that is killed behind a cut is missed when the cut ends", async () => {
    near.say("connect");
    await far.prints("heard hello");
    await cut([NEAR, FAR], [FAR, NEAR]);
    near.child.kill("SIGKILL");
    far.say("x".repeat(100_000));
    await quietly();
    await cut();
    await far.prints("closed");
  });

  test("one that is busy while the network is cut takes nothing when it goes on, though it has come before", async () => {
    const goesOn = `${file}.goes-on`;
    near.say("connect");
    await far.prints("heard hello");
    near.say(`stall ${goesOn}`);
    await near.prints("stalls");
    far.say("tell one");
    await far.prints("has told one");
    await cut([NEAR, FAR], [FAR, NEAR]);
    writeFileSync(goesOn, "");
    await quietly();
    await cut();
    await near.prints("heard one");
  });

  test("one way, only one of them is not heard", async () => {
    near.say("connect");
    await far.prints("heard hello");
    await cut([NEAR, FAR]);
    near.say("one");
    far.say("two");
    await near.prints("heard two");
    expect(far.lines).not.toContain("heard one");
    await cut();
    await far.prints("heard one");
  });

  test("a new connection gets no answer while it is cut", async () => {
    await cut([FAR, NEAR]);
    near.say("connect");
    await quietly();
    await cut();
    await near.prints("connected");
    await cut([FAR, NEAR]);
    near.say("connect");
    await near.prints("no answer within 5000 ms");
  });
});
