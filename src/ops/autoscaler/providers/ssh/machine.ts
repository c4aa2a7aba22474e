/**
 * A machine of the provider `ssh`: looks at the machine, brings a node up there, and ends the node.
 *
 * The machine's own files say which instance has it (`machine-script.ts`). This class keeps the last look, and the launch that is under way
 * here. The provider calls it, and never has two operations on a machine at a time but looks.
 */
import type { SetupConfig } from "../../config/cluster-config.ts";
import type { LaunchRequest } from "../../provider.ts";
import { nodeArguments } from "../node-arguments.ts";
import { MACHINE_ANSWERS_WITHIN_MS, NODE_ENDS_WITHIN_SECONDS, NODE_STARTS_WITHIN_SECONDS, SETUP_COMMAND_WITHIN_MS } from "./limits.ts";
import { MACHINE_SCRIPT, MACHINE_TAKEN } from "./machine-script.ts";
import { causeOf, isUnreachable, type RemoteShell } from "./remote-shell.ts";
import type { CommandRun } from "../../../../runtime/os/processes/command-run.ts";

/** The content of a machine's `claim`. */
export interface Claim {
  readonly cluster: string;
  readonly instance: string;
  readonly type: string;
}

/** Result of the last look. */
type MachineSight =
  | { readonly kind: "unknown" | "free" }
  | { readonly kind: "unreachable"; readonly cause: string }
  | { readonly kind: "claimed"; readonly claim: Claim; readonly node: "begun" | "alive" | "dead"; readonly cause: string };

/** Free of characters that a shell, JSON or a line could take for its own. */
const NAME = /^[A-Za-z0-9._-]{1,200}$/;

export class Machine {
  readonly shell: RemoteShell;
  readonly #setup: SetupConfig;
  sight: MachineSight = { kind: "unknown" };
  /** The launch or the end that is under way; its instance has the machine. */
  busyWith: string | undefined;
  /** When a launch last failed here: others are tried first. */
  failedMs = Number.NEGATIVE_INFINITY;

  constructor(shell: RemoteShell, setup: SetupConfig) {
    this.shell = shell;
    this.#setup = setup;
  }

  async look(): Promise<void> {
    const run = await this.#script(["look"], { timeoutMs: MACHINE_ANSWERS_WITHIN_MS });
    this.sight = run.exitCode === 0 ? readSight(run.stdout) : { kind: "unreachable", cause: causeOf(run) };
  }

  /** Claims the machine, sets it up and starts the node. @throws Error with the cause; the machine keeps the claim until `stop` */
  async bringUp(claim: Claim, { joinToken, ...request }: LaunchRequest, signal: AbortSignal): Promise<void> {
    const text = claimText(claim);
    const claimed = await this.#script(["claim", text], { timeoutMs: MACHINE_ANSWERS_WITHIN_MS, signal });
    if (claimed.exitCode === MACHINE_TAKEN) throw new Error(`${this.shell.host} is used already: ${claimed.stdout.trim()}`);
    this.#require(claimed, "cannot be claimed");
    const { initializationCommands, fileMounts, rsyncExclude, setupCommands } = this.#setup;
    for (const command of initializationCommands) await this.#runSetup(text, command, signal);
    for (const mount of fileMounts) {
      const copy = { ...mount, exclude: rsyncExclude };
      this.#require(await this.shell.copy(copy, { timeoutMs: SETUP_COMMAND_WITHIN_MS, signal }), `cannot take ${mount.to} of file_mounts`);
    }
    for (const command of setupCommands) await this.#runSetup(text, command, signal);
    const started = await this.#script(["start", text, String(NODE_STARTS_WITHIN_SECONDS), ...startWords(request)], {
      input: joinToken,
      timeoutMs: NODE_STARTS_WITHIN_SECONDS * 1000 + MACHINE_ANSWERS_WITHIN_MS,
      signal,
    });
    this.#require(started, "has not started the node");
    this.sight = { kind: "claimed", claim, node: "alive", cause: "" };
  }

  /** Ends the instance's node and frees the machine. @throws Error where the machine does not answer */
  async stop(claim: Claim): Promise<void> {
    const timeoutMs = NODE_ENDS_WITHIN_SECONDS * 1000 + MACHINE_ANSWERS_WITHIN_MS;
    this.#require(
      await this.#script(["stop", claimText(claim), String(NODE_ENDS_WITHIN_SECONDS)], { timeoutMs }),
      "has not ended the node",
    );
    this.sight = { kind: "free" };
  }

  async #runSetup(claim: string, command: string, signal: AbortSignal): Promise<void> {
    const run = await this.#script(["setup", claim, command], { timeoutMs: SETUP_COMMAND_WITHIN_MS, signal });
    this.#require(run, `failed at \`${command}\``);
  }

  async #script(words: readonly string[], options: { input?: string; timeoutMs: number; signal?: AbortSignal }): Promise<CommandRun> {
    return await this.shell.run(["sh", "-c", MACHINE_SCRIPT, "shoal", ...words], options);
  }

  #require(run: CommandRun, what: string): void {
    if (run.exitCode === 0) return;
    if (isUnreachable(run)) this.sight = { kind: "unreachable", cause: causeOf(run) };
    throw new Error(`${this.shell.host} ${what}: ${causeOf(run)}`);
  }
}

/** The node's command line. The token is no part of the command line. */
function startWords({ command, env, ...request }: Omit<LaunchRequest, "joinToken">): string[] {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return [...(variables.length > 0 ? ["env", ...variables] : []), ...command, ...nodeArguments(request)];
}

function claimText({ cluster, instance, type }: Claim): string {
  return JSON.stringify({ cluster, instance, type });
}

/** A machine's answer is its own: a claim that nobody of us wrote makes the machine another's. */
function readSight(text: string): MachineSight {
  const [first = "", state = "", ...rest] = text.split("\n");
  if (first === "free") return { kind: "free" };
  const node = state === "alive" || state === "dead" ? state : "begun";
  return { kind: "claimed", claim: readClaim(first), node, cause: rest.join("\n").trim() };
}

function readClaim(text: string): Claim {
  try {
    const { cluster, instance, type } = JSON.parse(text) as Record<string, unknown>;
    const isName = (value: unknown): value is string => typeof value === "string" && NAME.test(value);
    if (isName(cluster) && isName(instance) && isName(type)) return { cluster, instance, type };
  } catch {
    // Something else wrote it.
  }
  return { cluster: "", instance: "", type: "" };
}
