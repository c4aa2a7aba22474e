/**
 * `shoal list`, `shoal get` and `shoal summary`: the state of the cluster by Ray's names.
 *
 * Asks a `StateReader`, which alone knows whether rows come from a cluster or from a history. With `--json` the answer is printed as it
 * came.
 */
import { ShoalError } from "../../../runtime/base/errors.ts";
import { nearNames } from "../../../runtime/base/texts/near-names.ts";
import type { StateFilter, StateResource } from "../../state/state-reader.ts";
import { ADDRESS, type Command, defineCommand, UsageError } from "../command.ts";
import { FROM, withReader } from "./state-source.ts";

const FORMAT = { valueName: "FORMAT", help: "table (default), json or yaml" } as const;
const JSON_OPTION = { help: "print JSON; the same as --format json" } as const;

const RESOURCE_HELP = "RESOURCE is actors, jobs, nodes, placement-groups, tasks or workers.";

const listCommand: Command = defineCommand({
  name: "list",
  summary: "list actors, jobs, nodes, placement groups, tasks or workers",
  description: `Lists the newest rows that match, with the number of all. ${RESOURCE_HELP}
Conditions are COLUMN=VALUE, COLUMN!=VALUE, COLUMN~TEXT (contains), COLUMN<NUMBER and COLUMN>NUMBER.

Examples:
  shoal list actors -f state=DEAD -f 'class_name~Model' --detail
  shoal list tasks --sort-by duration_ms --descending --detail
  shoal list tasks -f state=FAILED --detail --from ~/.local/state/shoal/logs/0f3a9c21d4e7`,
  words: ["RESOURCE"],
  options: {
    filter: { short: "f", valueName: "CONDITION", isList: true, help: "show only rows that meet it; may be given several times" },
    limit: { short: "n", valueName: "COUNT", help: "maximum number of rows, up to 10000 (default: 100)" },
    "sort-by": { valueName: "COLUMN", help: "sort by a column instead of newest first" },
    descending: { help: "with --sort-by: largest values first" },
    "page-token": { valueName: "TOKEN", help: "show the next page; the page before ends with its token" },
    detail: { help: "show all columns" },
    timeout: { valueName: "SECONDS", help: "how long a node may take to answer (default: 30)" },
    format: FORMAT,
    from: FROM,
    address: ADDRESS,
    json: JSON_OPTION,
  },
  run: async ({ options, words, terminal }) => {
    const resource = resourceOf("list", words[0]);
    const query = {
      filters: options.filter.map((text) => filterOf(text)),
      limit: numberOf("list", "limit", options.limit),
      sortBy: options["sort-by"],
      isDescending: options.descending,
      pageToken: options["page-token"],
      detail: options.detail,
      timeoutMs: secondsOf(options.timeout),
    };
    const format = formatOf("list", options);
    const answer = await withReader("list", options, (reader) => reader.list(resource, query));
    const { listText, writtenAs } = await import("./state-text.ts");
    if (answer.partial_failure_warning !== null) terminal.tell(`shoal: ${answer.partial_failure_warning}`);
    terminal.print(format === "table" ? listText(answer, Date.now()) : writtenAs(format, answer));
  },
});

const getCommand: Command = defineCommand({
  name: "get",
  summary: "show one actor, job, node, placement group, task or worker",
  description: `Shows all columns of one row. ${RESOURCE_HELP}

Example: shoal get actors 0b3d2c1a5e6f70000000000101000000`,
  words: ["RESOURCE", "ID"],
  options: { format: { valueName: "FORMAT", help: "yaml (default) or json" }, from: FROM, address: ADDRESS, json: JSON_OPTION },
  run: async ({ options, words, terminal }) => {
    const resource = resourceOf("get", words[0]);
    const format = formatOf("get", options);
    const row = await withReader("get", options, (reader) => reader.get(resource, words[1] ?? ""));
    if (row === undefined) {
      const reason = `no row of ${resource} has the id ${words[1]}`;
      throw new ShoalError(`Cannot get it: ${reason}.`, { reason, hint: `See \`shoal list ${words[0]}\`.` });
    }
    const { writtenAs } = await import("./state-text.ts");
    terminal.print(writtenAs(format === "table" ? "yaml" : format, row));
  },
});

const summaryCommand: Command = defineCommand({
  name: "summary",
  summary: "count tasks or actors by name and state",
  description: "Counts all rows by name and state. RESOURCE is tasks or actors.\n\nExample: shoal summary tasks",
  words: ["RESOURCE"],
  options: { format: FORMAT, from: FROM, address: ADDRESS, json: JSON_OPTION },
  run: async ({ options, words, terminal }) => {
    const resource = resourceOf("summary", words[0]);
    const format = formatOf("summary", options);
    const answer = await withReader("summary", options, (reader) => reader.summarize(resource));
    const { summaryText, writtenAs } = await import("./state-text.ts");
    terminal.print(format === "table" ? summaryText(answer) : writtenAs(format, answer));
  },
});

export const stateCommands: readonly Command[] = [listCommand, getCommand, summaryCommand];

const RESOURCE_WORDS = ["actors", "jobs", "nodes", "placement-groups", "tasks", "workers"];

function resourceOf(command: string, word = ""): StateResource {
  const plural = [word, `${word}s`].find((name) => RESOURCE_WORDS.includes(name.replaceAll("_", "-")));
  if (plural !== undefined) return plural.replaceAll("-", "_") as StateResource;
  const near = nearNames(word, RESOURCE_WORDS);
  const hint = near.length === 0 ? RESOURCE_HELP : `Did you mean ${near.join(" or ")}?`;
  throw new UsageError(`Cannot run shoal ${command}: there is no resource "${word}". ${hint}`);
}

const OPERATORS = { "!=": "!=", "=": "=", "~": "contains", "<": "<", ">": ">" } as const;

function filterOf(text: string): StateFilter {
  const match = /^\s*(?<column>\w+)\s*(?<operator>!=|=|~|<|>)(?<value>.*)$/s.exec(text);
  const { column, operator, value } = match?.groups ?? {};
  if (column === undefined || value === undefined)
    throw new UsageError(`Cannot run shoal list: a condition is COLUMN=VALUE: received ${text}. See \`shoal list --help\`.`);
  return [column, OPERATORS[operator as keyof typeof OPERATORS], value.trim()];
}

function numberOf(command: string, name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new UsageError(`Cannot run shoal ${command}: --${name} takes a whole number from 1: received ${text}.`);
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (seconds > 0) return seconds * 1000;
  throw new UsageError(`Cannot run shoal list: --timeout takes seconds: received ${text}.`);
}

function formatOf(command: string, { format = "table", json }: { format: string | undefined; json: boolean }): "table" | "json" | "yaml" {
  if (json) return "json";
  if (format === "default") return "table";
  if (format === "table" || format === "json" || format === "yaml") return format;
  throw new UsageError(`Cannot run shoal ${command}: --format is table, json or yaml: received ${format}.`);
}
