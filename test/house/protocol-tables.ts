/**
 * Makes PROTOCOL.md's tables of messages from their definitions, so that the page and the code say the same.
 *
 * A table is made of a table of shapes, which describe themselves, and of the comments on its lines, which say what the messages mean. The
 * text behind "Body:" in a comment becomes the column of bodies. The prose of the page stays: only the text between markers is replaced.
 * Pure; called by `test/protocol-tables.test.ts`.
 */
import { MESSAGES_TO_CALLER, MESSAGES_TO_WORKER } from "../../src/runtime/wire/calls/call-messages.ts";
import * as definitionMessages from "../../src/runtime/wire/calls/definition-messages.ts";
import type { Shape } from "../../src/runtime/wire/header-shape.ts";
import * as messages from "../../src/runtime/wire/messages.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { MESSAGES_BETWEEN_DAEMONS, MESSAGES_OF_PROCESS } from "../../src/runtime/wire/tables/messages-to-daemon.ts";
import {
  MESSAGES_OF_HEAD,
  MESSAGES_OF_NEIGHBOUR,
  MESSAGES_OF_NEW_NODE,
  MESSAGES_OF_NODE,
  MESSAGES_OF_RECEIVER,
} from "../../src/runtime/wire/tables/messages-of-nodes.ts";
import { MESSAGES_TO_HEAD } from "../../src/runtime/wire/tables/messages-to-head.ts";
import { MESSAGES_TO_PROCESS } from "../../src/runtime/wire/tables/messages-to-process.ts";
import { REPLIES } from "../../src/runtime/wire/tables/replies.ts";
import * as whyMessages from "../../src/runtime/wire/calls/why-messages.ts";

type ShapesByNumber = Readonly<Record<number, Shape>>;

interface Direction {
  readonly title: string;
  /** File below `src/runtime/wire`, and the table of shapes in it. */
  readonly from: readonly [file: string, name: string];
  readonly shapes: ShapesByNumber;
  /** Shapes that the table takes over from another, where their rows are. */
  readonly rowsElsewhere?: ShapesByNumber;
}

const DIRECTIONS: readonly Direction[] = [
  {
    title: "From a driver or worker to its daemon",
    from: ["tables/messages-to-daemon.ts", "MESSAGES_OF_PROCESS"],
    shapes: MESSAGES_OF_PROCESS,
    rowsElsewhere: MESSAGES_TO_HEAD,
  },
  {
    title: "From a driver or worker to the head, through its daemon",
    from: ["tables/messages-to-head.ts", "MESSAGES_TO_HEAD"],
    shapes: MESSAGES_TO_HEAD,
  },
  {
    title: "To a driver or worker from its daemon, and through it from the head and from other nodes",
    from: ["tables/messages-to-process.ts", "MESSAGES_TO_PROCESS"],
    shapes: MESSAGES_TO_PROCESS,
  },
  {
    title: "From a caller to a worker",
    from: ["calls/call-messages.ts", "MESSAGES_TO_WORKER"],
    shapes: MESSAGES_TO_WORKER,
  },
  {
    title: "From a worker to a caller",
    from: ["calls/call-messages.ts", "MESSAGES_TO_CALLER"],
    shapes: MESSAGES_TO_CALLER,
  },
  {
    title: "From a daemon to the daemon of another node, in ROUTED",
    from: ["tables/messages-to-daemon.ts", "MESSAGES_BETWEEN_DAEMONS"],
    shapes: MESSAGES_BETWEEN_DAEMONS,
  },
  {
    title: "From a node that joins to the head",
    from: ["tables/messages-of-nodes.ts", "MESSAGES_OF_NEW_NODE"],
    shapes: MESSAGES_OF_NEW_NODE,
  },
  { title: "From a node to the head", from: ["tables/messages-of-nodes.ts", "MESSAGES_OF_NODE"], shapes: MESSAGES_OF_NODE },
  { title: "From the head to a node", from: ["tables/messages-of-nodes.ts", "MESSAGES_OF_HEAD"], shapes: MESSAGES_OF_HEAD },
  { title: "From a node to another", from: ["tables/messages-of-nodes.ts", "MESSAGES_OF_NEIGHBOUR"], shapes: MESSAGES_OF_NEIGHBOUR },
  { title: "On transfer connections", from: ["tables/messages-of-nodes.ts", "MESSAGES_OF_RECEIVER"], shapes: MESSAGES_OF_RECEIVER },
];

const BEGIN = "<!-- The tables from here on are made from src/runtime/wire: `npm test -- test/protocol-tables.test.ts -u` -->";
const END = "<!-- The end of the tables that are made -->";
const COMMENT = String.raw`\/\*\*(?<comment>(?:(?!\*\/)[\s\S])*)\*\/\n`;

/** Reads a file below `src/runtime/wire`. */
type Read = (file: string) => Promise<string>;

/** The page with its tables made anew. @throws Error for a page without markers, and for definitions that cannot be read */
export async function protocolPage(page: string, read: Read): Promise<string> {
  const [before, rest] = cut(page, BEGIN);
  const [, after] = cut(rest, END);
  const tables = [await partsTable(read)];
  for (const direction of DIRECTIONS) tables.push(await directionTable(direction, read));
  return [before, BEGIN, `\n\n${tables.join("\n")}\n`, END, after].join("");
}

/** Messages of the catalogue that a page has no row for. */
export function messagesWithoutRow(page: string): string[] {
  return Object.entries(MESSAGE).flatMap(([name, number]) => (page.includes(`\n| ${number} | ${name} |`) ? [] : [`${number} ${name}`]));
}

async function directionTable({ title, from: [file, name], shapes, rowsElsewhere = {} }: Direction, read: Read): Promise<string> {
  const rows = rowsOf(await read(file), name);
  const missing = Object.keys(shapes).filter((number) => rowsElsewhere[Number(number)] === undefined && !rows.has(Number(number)));
  if (missing.length > 0) throw new Error(`Cannot make the table of ${name}: it has shapes but no comments for ${missing.join(", ")}`);
  const lines = [...rows].sort(([a], [b]) => a - b).map(([number, row]) => rowText(number, row, shapes[number]));
  return `### ${title}\n\n| n | name | header | answer | body | meaning |\n|---|---|---|---|---|---|\n${lines.join("\n")}\n`;
}

interface Row {
  readonly name: string;
  readonly comment: string;
}

function rowText(number: number, { name, comment }: Row, shape: Shape | undefined): string {
  if (shape === undefined) throw new Error(`Cannot make the row of ${name}: its table has no shape for it`);
  const reply = (REPLIES as ShapesByNumber)[number];
  const [, meaning = comment, body = ""] = /^(.*?)\s*Body: (.*?)\.?$/s.exec(comment) ?? [];
  const cells = [String(number), name, described(shape), reply === undefined ? "" : described(reply), body, meaning];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** The parts that several headers share, in one table under their names. */
async function partsTable(read: Read): Promise<string> {
  const rows = [
    ...partRows(await read("messages.ts"), messages),
    ...partRows(await read("calls/definition-messages.ts"), definitionMessages),
    ...partRows(await read("calls/why-messages.ts"), whyMessages),
  ];
  return `### Parts of headers\n\n| part | what it is | meaning |\n|---|---|---|\n${rows.sort().join("\n")}\n`;
}

/** The shapes of a module that have names. */
function partRows(source: string, exported: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(exported).flatMap(([name, part]) => {
    const { describe, describeWhole } = part as Partial<Shape>;
    if (describe === undefined || describeWhole === undefined) return [];
    const comment = new RegExp(`^${COMMENT}export const ${name}\\b`, "m").exec(source)?.groups?.["comment"];
    if (comment === undefined) throw new Error(`Cannot make the table of parts: ${name} has no comment`);
    return [`| ${describe()} | \`${describeWhole().replaceAll("|", "\\|")}\` | ${textOf(comment)} |`];
  });
}

function described(shape: Shape): string {
  const text = shape.describe();
  const written = text === "–" ? "nothing" : `\`${text}\``;
  return shape.isOptional === true ? `${written}, or nothing` : written;
}

/** The messages of a table of shapes that it has lines for. @throws Error for one without a comment */
function rowsOf(source: string, name: string): Map<number, Row> {
  const body = new RegExp(`^export const ${name} = \\{\\n(?<body>[\\s\\S]*?)\\n\\};$`, "m").exec(source)?.groups?.["body"];
  if (body === undefined) throw new Error(`Cannot make a table of messages: there is no table ${name}`);
  const rows = new Map<number, Row>();
  const line = new RegExp(String.raw`^(?: {2}${COMMENT})? {2}\[MESSAGE\.(?<message>\w+)\]: `, "gm");
  for (const { groups: { message = "", comment } = {} } of body.matchAll(line)) {
    const number = (MESSAGE as Readonly<Record<string, number>>)[message];
    if (number === undefined || comment === undefined) throw new Error(`Cannot make the table of ${name}: ${message} has no comment`);
    rows.set(number, { name: message, comment: textOf(comment) });
  }
  return rows;
}

/** A comment as one line. */
function textOf(comment: string): string {
  return comment
    .replace(/^ *\* ?/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

function cut(text: string, marker: string): [before: string, after: string] {
  const at = text.indexOf(marker);
  if (at < 0) throw new Error(`Cannot make the tables of PROTOCOL.md: it has no marker ${marker}`);
  return [text.slice(0, at), text.slice(at + marker.length)];
}
