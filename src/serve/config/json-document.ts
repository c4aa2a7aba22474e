/**
 * Reads a configuration in JSON to the nodes that `yaml` has for one: values with their places, for messages that name a line.
 *
 * Strangers send JSON to the REST API, and a reader of YAML takes seconds for what this one reads in milliseconds: each character is looked at once, and each key once in a set.
 * Called by `read-config.ts`. Pure.
 */
import { Document, type LineCounter, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { CONFIG_DEPTH_MAX } from "../limits.ts";

interface JsonConfig {
  readonly document: Document;
  /** The same as plain values. */
  readonly whole: unknown;
}

/** An object or an array whose end has not come. */
interface Open {
  readonly node: YAMLMap | YAMLSeq;
  readonly keys: Set<string>;
  /** The key whose value comes next. */
  key: Scalar | undefined;
}

/** A mistake in a document. Its message begins with the line. */
export class JsonMistake extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * @param lines gets the begin of each line
 * @returns undefined for a text that is no JSON @throws JsonMistake for keys that are there twice, and for more levels than a configuration has
 */
export function readJson(text: string, lines: LineCounter): JsonConfig | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch {
    return undefined;
  }
  const document = new Document();
  document.contents = nodesOf(text, lines) as Document["contents"];
  return { document, whole };
}

/** @param text JSON without a mistake */
function nodesOf(text: string, lines: LineCounter): unknown {
  const open: Open[] = [];
  let root: unknown;
  const place = (node: YAMLMap | YAMLSeq | Scalar, offset: number): void => {
    node.range = [offset, offset, offset];
    const parent = open.at(-1);
    if (parent === undefined) root = node;
    else if (parent.node instanceof YAMLSeq) parent.node.items.push(node);
    else {
      parent.node.items.push(new Pair(parent.key as Scalar, node));
      parent.key = undefined;
    }
  };
  lines.addNewLine(0);
  for (let offset = 0; offset < text.length; ) {
    const character = text[offset] as string;
    let end = offset + 1;
    if (character === "\n") lines.addNewLine(end);
    else if (character === "{" || character === "[") {
      if (open.length === CONFIG_DEPTH_MAX) throw new JsonMistake(`at most ${CONFIG_DEPTH_MAX} levels are taken`, offset);
      const node = character === "{" ? new YAMLMap() : new YAMLSeq();
      place(node, offset);
      open.push({ node, keys: new Set(), key: undefined });
    } else if (character === "}" || character === "]") open.pop();
    else if (!/[\s,:]/.test(character)) {
      end = character === '"' ? endOfText(text, offset) : endOfWord(text, offset);
      const scalar = new Scalar(JSON.parse(text.slice(offset, end)));
      const parent = open.at(-1) as Open;
      if (parent.node instanceof YAMLSeq || parent.key !== undefined) place(scalar, offset);
      else takeKey(parent, scalar, offset);
    }
    offset = end;
  }
  return root;
}

function takeKey(parent: Open, key: Scalar, offset: number): void {
  const name = key.value as string;
  if (parent.keys.has(name)) throw new JsonMistake(`the key ${JSON.stringify(name.slice(0, 100))} is there twice`, offset);
  parent.keys.add(name);
  key.range = [offset, offset, offset];
  parent.key = key;
}

function endOfText(text: string, begin: number): number {
  let end = begin + 1;
  while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
  return end + 1;
}

function endOfWord(text: string, begin: number): number {
  let end = begin;
  while (end < text.length && !/[\s,\]}]/.test(text[end] as string)) end += 1;
  return end;
}
