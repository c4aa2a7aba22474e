/**
 * `shoal token create`, `list` and `revoke`: manages who may join the cluster, and until when.
 *
 * Asked of the head through the node of this machine. The head keeps the hash of a token's secret alone, so a token is shown once, where it is made; afterwards it is
 * called by the first digits of that hash.
 */
import type { JoinTokensHeader, JoinTokensReply } from "../../../runtime/wire/cluster/cluster-messages.ts";
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import { connectToCluster } from "../../connection/cluster-connection.ts";
import { HTTP_TOKENS_NAMESPACE, type HttpTokenRecord } from "../../connection/http-token-record.ts";
import { sha256Hex } from "../../../runtime/os/digest.ts";
import { randomHex } from "../../../runtime/os/random.ts";
import type { Terminal } from "../../../runtime/os/terminal.ts";
import { ADDRESS, type Command, defineCommand, UsageError } from "../command.ts";

type Listed = Extract<JoinTokensReply, { kind: "list" }>["tokens"][number];

const ID_DIGITS_SHOWN = 12;
const ID_DIGITS_MIN = 4;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
export const tokenCreateCommand: Command = defineCommand({
  name: "token create",
  summary: "make a token with which machines join the cluster",
  description: `Prints a new join token. Whoever has it can join the cluster until it expires or is revoked, and whoever has
joined can run programs on all nodes. A node needs its token again when its supervisor starts it anew.`,
  options: {
    "expires-after": { valueName: "TIME", help: "how long it is good: 90s, 30m, 12h, 7d (default: until it is revoked)" },
    for: { valueName: "USE", help: "join, or http for the dashboard and the REST interface (default: join)" },
    role: { valueName: "ROLE", help: "with --for http: view, which changes nothing, or admin (default: view)" },
    address: ADDRESS,
    json: { help: "print the token as JSON" },
  },
  run: async ({ options, terminal }) => {
    const ageMaxMs = duration(options["expires-after"]);
    if (isForHttp(options)) return await createHttpToken({ ...options, role: options.role ?? "view", ageMaxMs }, terminal);
    const made = await ask("new", { do: "new", ageMaxMs }, options.address);
    if (options.json) terminal.print(JSON.stringify({ id: made.id, joinToken: made.joinToken, expiresAtMs: made.expiresAtMs }));
    else {
      terminal.tell(`Token ${formatTokenId(made.id)}, good ${untilText(made.expiresAtMs)}:`);
      terminal.print(made.joinToken);
    }
  },
});

export const tokenListCommand: Command = defineCommand({
  name: "token list",
  summary: "show the tokens with which machines may join the cluster",
  description: "Shows the first digits of each token's id, when it was made, and how long it is good. No secrets.",
  options: { address: ADDRESS, json: { help: "print them as JSON" } },
  run: async ({ options, terminal }) => {
    const { tokens } = await ask("list", { do: "list" }, options.address);
    if (options.json) terminal.print(JSON.stringify({ tokens }));
    else for (const token of tokens) terminal.print(`${formatTokenId(token.id)}  made ${timeText(token.createdAtMs)}  ${stateText(token)}`);
  },
});

export const tokenRevokeCommand: Command = defineCommand({
  name: "token revoke",
  summary: "let nobody join the cluster with a token any more",
  description: `Nobody joins with it from now on. Nodes that joined with it stay, but are not started again with it when they
end. ID is the token's id as \`shoal token list\` shows it, or its first digits, ${ID_DIGITS_MIN} at least.`,
  words: ["ID"],
  options: { address: ADDRESS, json: { help: "print the result as JSON" } },
  run: async ({ options, words, terminal }) => {
    const wanted = words[0] ?? "";
    if (!new RegExp(`^[0-9a-f]{${ID_DIGITS_MIN},64}$`).test(wanted))
      throw new UsageError(
        `Cannot run shoal token revoke: ID is the id of a token or its first digits, ${ID_DIGITS_MIN} at least, as \`shoal token list\` shows it: received ${wanted}.`,
      );
    const { tokens } = await ask("list", { do: "list" }, options.address);
    const found = tokens.filter(({ id }) => id.startsWith(wanted));
    const [token] = found;
    if (token === undefined || found.length > 1)
      throw new UsageError(
        `Cannot run shoal token revoke: ${token === undefined ? "no token of the cluster" : `${found.length} tokens have an id that`} begins with ${wanted}. See \`shoal token list\`.`,
      );
    const wasGood = stateOf(token) === "good";
    await ask("revoked", { do: "revoke", id: token.id }, options.address);
    if (options.json) terminal.print(JSON.stringify({ id: token.id, wasGood }));
    else
      terminal.print(
        wasGood ? `Token ${formatTokenId(token.id)} is revoked.` : `Token ${formatTokenId(token.id)} was not good any more; it is revoked.`,
      );
  },
});

/** @throws UsageError */
function isForHttp({ for: use = "join", role }: { for: string | undefined; role: string | undefined }): boolean {
  const wrong = (problem: string): UsageError =>
    new UsageError(`Cannot run shoal token create: ${problem}. See \`shoal token create --help\`.`);
  if (use !== "join" && use !== "http") throw wrong(`--for takes join or http: received ${use}`);
  if (use === "join" && role !== undefined) throw wrong("--role is for --for http");
  if (role !== undefined && role !== "view" && role !== "admin") throw wrong(`--role takes view or admin: received ${role}`);
  return use === "http";
}

interface HttpTokenWords {
  readonly role: string;
  readonly ageMaxMs: number | undefined;
  readonly address: string | undefined;
  readonly json: boolean;
}

/** The head keeps the hash alone. */
async function createHttpToken({ role, ageMaxMs, address, json }: HttpTokenWords, terminal: Terminal): Promise<void> {
  using cluster = await connectToCluster(address);
  const token = randomHex(64);
  const nowMs = Date.now();
  const record: HttpTokenRecord = {
    role: role === "admin" ? "admin" : "view",
    createdAtMs: nowMs,
    ...(ageMaxMs === undefined ? {} : { expiresAtMs: nowMs + ageMaxMs }),
  };
  const put = { namespace: HTTP_TOKENS_NAMESPACE, key: sha256Hex(token), form: "json", overwrite: false };
  await cluster.ask(MESSAGE.KV_PUT, put, { timeoutMs: 10_000, parts: [new TextEncoder().encode(JSON.stringify(record))] });
  if (json) return terminal.print(JSON.stringify({ token, role, expiresAtMs: record.expiresAtMs }));
  terminal.tell(`Token of the role ${role}, good ${untilText(record.expiresAtMs)}:`);
  terminal.print(token);
}

async function ask<Kind extends JoinTokensReply["kind"]>(
  kind: Kind,
  asked: JoinTokensHeader,
  address: string | undefined,
): Promise<Extract<JoinTokensReply, { kind: Kind }>> {
  using cluster = await connectToCluster(address);
  const answer = await cluster.ask(MESSAGE.JOIN_TOKENS, asked);
  if (answer.kind !== kind) throw new Error(`Cannot read the head's answer: it is of kind "${answer.kind}" and not "${kind}"`);
  return answer as Extract<JoinTokensReply, { kind: Kind }>;
}

function stateOf({ expiresAtMs, revokedAtMs }: Listed): "good" | "expired" | "revoked" {
  if (revokedAtMs !== undefined) return "revoked";
  return expiresAtMs !== undefined && expiresAtMs <= Date.now() ? "expired" : "good";
}

function stateText(token: Listed): string {
  switch (stateOf(token)) {
    case "good":
      return `good ${untilText(token.expiresAtMs)}`;
    case "expired":
      return `expired ${timeText(token.expiresAtMs ?? 0)}`;
    case "revoked":
      return `revoked ${timeText(token.revokedAtMs ?? 0)}`;
  }
}

function untilText(expiresAtMs: number | undefined): string {
  return expiresAtMs === undefined ? "until it is revoked" : `until ${timeText(expiresAtMs)}`;
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z");
}

function formatTokenId(id: string): string {
  return id.slice(0, ID_DIGITS_SHOWN);
}

function duration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, amount = "", unit = ""] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  const valueMs = Number(amount) * (UNITS_MS[unit] ?? 0);
  if (valueMs > 0) return valueMs;
  throw new UsageError(
    `Cannot run shoal token create: --expires-after takes a time such as 90s, 30m, 12h or 7d: received ${text}. See \`shoal token create --help\`.`,
  );
}
