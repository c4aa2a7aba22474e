/** Tests command lines: help, commands with checked options, and failures in words; the commands are made up. */
import { expect, test } from "vitest";
import { ShoalError } from "../../runtime/base/errors.ts";
import type { Terminal } from "../../runtime/os/terminal.ts";
import { type Command, defineCommand } from "./command.ts";
import { runCommandLine } from "./run-command-line.ts";

const ran: unknown[] = [];

const COMMANDS: readonly Command[] = [
  defineCommand({
    name: "start",
    summary: "start a node",
    options: {
      address: { short: "a", valueName: "HOST:PORT", help: "the head to join" },
      head: { help: "be the head" },
      json: { help: "print JSON" },
    },
    run: async ({ options }) => {
      const address: string | undefined = options.address;
      const head: boolean = options.head;
      ran.push({ address, head });
    },
  }),
  defineCommand({
    name: "nats install",
    summary: "install it",
    words: ["PLACE"],
    options: {},
    run: async ({ words }) => {
      ran.push(words);
    },
  }),
  defineCommand({
    name: "version",
    asOptions: ["--version", "-v"],
    summary: "print the version",
    options: { json: { help: "print JSON" } },
    run: async ({ options, terminal }) => terminal.print(options.json ? "{}" : "1.2.3"),
  }),
  defineCommand({
    name: "fail",
    summary: "fail",
    options: { how: { valueName: "HOW", help: "how" }, json: { help: "print JSON" } },
    run: async ({ options: { how } }) => {
      if (how === "expected") throw new ShoalError("Cannot do it: no room.", { reason: "no room", hint: "Make room." });
      if (how === "range") throw new RangeError("Cannot do it: received 7");
      if (how === "code") return 5;
      throw new TypeError("undefined is not a function");
    },
  }),
  defineCommand({
    name: "label",
    summary: "label a node",
    options: { label: { valueName: "KEY=VALUE", isList: true, help: "a label" } },
    run: async ({ options: { label } }) => {
      const labels: readonly string[] = label;
      ran.push(labels);
    },
  }),
];

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function shoal(...args: string[]): Promise<Run> {
  const out: string[] = [];
  const err: string[] = [];
  ran.length = 0;
  const terminal: Terminal = {
    print: (text) => void out.push(text),
    write: (bytes) => Promise.resolve(out.push(Buffer.from(bytes).toString()) > 0),
    tell: (text) => void err.push(text),
    environment: {},
    workingDirectory: "/",
  };
  return { code: await runCommandLine(args, COMMANDS, terminal), out: out.join("\n"), err: err.join("\n") };
}

test.each([[[]], [["--help"]], [["-h"]], [["help"]]] as string[][][])("help lists the commands: %j", async (args = []) => {
  const { code, out, err } = await shoal(...args);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/^Usage: shoal <command> \[options\]\n\nCommands:\n {2}start +start a node\n {2}nats install +install it\n/);
});

test("an option that is a list may be given several times; another one has its last value", async () => {
  await shoal("label", "--label", "a=1", "--label=b=2");
  expect(ran).toEqual([["a=1", "b=2"]]);
  await shoal("label");
  expect(ran).toEqual([[]]);
  await shoal("start", "--address", "a:1", "--address", "b:2");
  expect(ran).toEqual([{ address: "b:2", head: false }]);
});

test("a command that is an option in other programs is one here, too", async () => {
  for (const word of ["version", "--version", "-v"]) expect(await shoal(word)).toEqual({ code: 0, out: "1.2.3", err: "" });
  expect((await shoal("--version", "--json")).out).toBe("{}");
  expect((await shoal("start", "--version")).code).toBe(2);
});

test("help of one command, before and after it, and of a group", async () => {
  for (const args of [
    ["start", "--help"],
    ["start", "--head", "-h"],
    ["help", "start"],
    ["--help", "start"],
  ]) {
    const { code, out } = await shoal(...args);
    expect([code, ran]).toEqual([0, []]);
    expect(out).toMatch(/^Usage: shoal start \[options\]\n\nstart a node\.\n\nOptions:\n {2}--address, -a HOST:PORT +the head to join\n/);
  }
  expect((await shoal("nats", "install", "--help")).out).toContain("Usage: shoal nats install PLACE [options]");
  for (const args of [["nats"], ["nats", "--help"]]) {
    const { code, out } = await shoal(...args);
    expect(code).toBe(0);
    expect(out).toContain("nats install");
    expect(out).not.toContain("start a node");
  }
});

test("options arrive checked and typed, in every form", async () => {
  for (const args of [
    ["--address", "h:1", "--head"],
    ["--head", "--address=h:1"],
    ["-a", "h:1", "--head"],
  ]) {
    expect((await shoal("start", ...args)).code).toBe(0);
    expect(ran).toEqual([{ address: "h:1", head: true }]);
  }
  await shoal("start");
  expect(ran).toEqual([{ address: undefined, head: false }]);
  await shoal("nats", "install", "here");
  expect(ran).toEqual([["here"]]);
});

test.each([
  [["strat"], 'there is no command "strat". Did you mean start? See `shoal --help`.'],
  [["nast"], "Did you mean nats?"],
  [["nats", "instal"], 'there is no command "nats instal". Did you mean nats install?'],
  [["xyzzyxyzzy"], 'there is no command "xyzzyxyzzy". See'],
  [["--verbos"], "there is no option --verbos without a command"],
  [["start", "--adress", "x"], "there is no option --adress. Did you mean --address? See `shoal start --help`."],
  [["start", "-x"], "there is no option -x."],
  [["start", "--address"], "--address needs a value"],
  [["start", "--address="], "--address needs a value"],
  [["start", "--head=yes"], "--head takes no value: received yes"],
  [["start", "more"], '"more" is one word too many'],
  [["nats", "install"], "PLACE is missing"],
  [["fail", "--how", "range"], "Cannot do it: received 7"],
])("what was typed wrong is said in words, with code 2: %j", async (args, message) => {
  const { code, out, err } = await shoal(...args);
  expect(err).toContain(message);
  expect([code, out, ran]).toEqual([2, "", []]);
  expect(err).not.toContain("    at ");
});

test("an expected failure is a message and a hint, a fault of ours has its stack, and a command has its own code", async () => {
  expect(await shoal("fail", "--how", "expected")).toEqual({ code: 1, out: "", err: "shoal: Cannot do it: no room.\n  Make room." });
  const fault = await shoal("fail");
  expect(fault.code).toBe(1);
  expect(fault.err).toMatch(/fault of Shoal.*\nTypeError: undefined is not a function\n {4}at /s);
  expect((await shoal("fail", "--how", "code")).code).toBe(5);
});

test("with --json standard output has one JSON value also for failures", async () => {
  const { code, out } = await shoal("fail", "--how", "expected", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(out)).toEqual({
    error: { code: "SHOAL_ERROR", message: "Cannot do it: no room.", reason: "no room", hint: "Make room." },
  });
  expect(JSON.parse((await shoal("start", "--jsn", "--json")).out)).toMatchObject({ error: { code: "USAGE" } });
});
