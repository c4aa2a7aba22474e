/**
 * Finds English that a reader has to decode, in comments and documents.
 *
 * Each habit is a pattern that reads one sentence; none of them knows grammar. A habit counts places where a plainer sentence exists in nearly all
 * cases, so single wrong hits do not matter: `test/language.test.ts` compares sums by folder, which may only fall.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commentsOf } from "../../scripts/tokens.ts";
import { REPOSITORY } from "./source-files.ts";

export const HABITS = ["opener", "headless", "ofIt", "longSentence", "wideLine", "person"] as const;
export type Habit = (typeof HABITS)[number];

export interface Place {
  readonly line: number;
  readonly habit: Habit;
  readonly text: string;
}

const SENTENCE_WORDS_MAX = 35;
const DOCUMENT_LINE_MAX = 140;

/** A text that begins so speaks of a thing that it has not named. Before a noun ("This file", "One of the workers") these words are fine. */
const OPENER =
  /^(?:(?:its?|they|theirs?|them|none|nobody|somebody|either|neither|others?|another|whoever|whom|whose|whatever)\b|(?:th(?:is|at|ese|ose)|ones?)\s+(?:is|are|was|were|has|have|had|can|could|may|must|does|do|will|would|who|which|that|of (?:it|them))\b|th(?:is|ose|ese) (?:who|which|that)\b|(?:what|who|which)\b(?![^.]*\?))/i;

/** A clause in place of a noun: "what it takes", "who has it". After verbs of knowing and saying such a clause is a question, and fine. */
const HEADLESS =
  /(?<!\b(?:know|knows|known|say|says|said|tell|tells|told|decide|decides|see|sees|ask|asks|asked|choose|chooses|shows?|explains?|about|matters?)\s)(?:\b(?:what|whatever|whoever)|(?:^|[,:;(]\s*|\b(?:of|to|for|by|with|from|as|than|and|or|but|that|when|where|if|on|in)\s)(?:who|whom))\s+(?:it|they|users?|nobody|somebody|others?|an?|the|is|are|was|were|has|have|had|came|ran|sent|made|got|left|kept|held|found|knew|began|wrote|took|went|[a-z]{2,}(?:s|ed))\b/gi;
const OF_IT = /\bof (?:it|its|theirs|his|hers|another's)\b/gi;
const PERSON = /\b(?:he|him|his|himself)\b/gi;
/** Orders to tools, which no reader reads as prose. */
const DIRECTIVE = /^(?:oxlint|biome|eslint|prettier|type:|noqa|@ts-|v8 ignore)/;

export function placesIn(path: string, source: string): Place[] {
  const places: Place[] = [];
  for (const { line, text } of path.endsWith(".md") ? paragraphsOf(source) : proseOfCode(path, source)) {
    if (DIRECTIVE.test(text)) continue;
    if (OPENER.test(text)) places.push({ line, habit: "opener", text });
    for (const sentence of text.split(/(?<=[.:;!?])\s+(?=[A-Z`"])/)) places.push(...habitsOf(line, sentence));
  }
  if (path.endsWith(".md")) places.push(...wideLines(source));
  return places;
}

function habitsOf(line: number, sentence: string): Place[] {
  const bare = sentence.replace(/`[^`]*`|"[^"]*"/g, "x");
  const count = (pattern: RegExp, habit: Habit): Place[] => Array.from(bare.matchAll(pattern), () => ({ line, habit, text: sentence }));
  const places = [...count(HEADLESS, "headless"), ...count(OF_IT, "ofIt"), ...count(PERSON, "person")];
  if (bare.split(" ").length > SENTENCE_WORDS_MAX) places.push({ line, habit: "longSentence", text: sentence });
  return places;
}

interface Prose {
  readonly line: number;
  readonly text: string;
}

function proseOfCode(path: string, source: string): Prose[] {
  return path.endsWith(".py") ? commentsOfPython(source) : commentsOfTypeScript(source);
}

/** Line comments that follow each other without code between them are one text; a tag of a doc comment begins another. */
function commentsOfTypeScript(source: string): Prose[] {
  const found: { line: number; endLine: number; isBlock: boolean; text: string }[] = [];
  for (const { start, text } of commentsOf(source)) {
    const line = lineAt(source, start);
    const isBlock = text.startsWith("/*");
    const last = found.at(-1);
    if (last !== undefined && !isBlock && !last.isBlock && last.endLine === line - 1 && startsLine(source, start)) {
      last.text += `\n${text.slice(2)}`;
      last.endLine = line;
    } else {
      const body = isBlock ? text.replace(/^\/\*+|\*+\/$/g, "").replace(/^[ \t]*\* ?/gm, "") : text.slice(2);
      found.push({ line, endLine: line, isBlock, text: body });
    }
  }
  return found.flatMap(({ line, text }) =>
    text
      .split(/\n\s*\n|\n(?=\s*@)/)
      .map((part) => ({ line, text: oneLine(part.replace(/^\s*@\w+\s+(?:\S+ - )?/, "")) }))
      .filter(({ text: part }) => part !== ""),
  );
}

function startsLine(source: string, offset: number): boolean {
  return source.slice(source.lastIndexOf("\n", offset - 1) + 1, offset).trim() === "";
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split("\n").length;
}

/** Comments that follow each other, and docstrings. */
function commentsOfPython(source: string): Prose[] {
  const found: Prose[] = [];
  for (const match of source.matchAll(/^[ \t]*"""(?<doc>[\s\S]*?)"""|(?:^[ \t]*# .*\n?)+/gm)) {
    const { doc } = match.groups ?? {};
    const text = doc ?? match[0].replace(/^[ \t]*# /gm, "");
    const line = lineAt(source, match.index);
    for (const part of text.split(/\n\s*\n/)) if (part.trim() !== "") found.push({ line, text: oneLine(part) });
  }
  return found;
}

/** Paragraphs and items of lists, without tables, headings, code and the targets of links. */
function paragraphsOf(source: string): Prose[] {
  const found: Prose[] = [];
  let lines: string[] = [];
  let first = 0;
  const end = (): void => {
    if (lines.length > 0) found.push({ line: first, text: oneLine(lines.join(" ")) });
    lines = [];
  };
  for (const { line, text } of linesOutsideCode(source)) {
    if (text.trim() === "" || /^\s*(?:\||#|<|\[.*\]:)/.test(text)) {
      end();
      continue;
    }
    if (/^\s*(?:[-*]|\d+\.)\s/.test(text)) end();
    if (lines.length === 0) first = line;
    lines.push(
      text
        .replace(/^\s*(?:[-*>]|\d+\.)\s+/, "")
        .replaceAll("**", "")
        .replace(/\]\([^)]*\)/g, "]"),
    );
  }
  end();
  return found;
}

function wideLines(source: string): Place[] {
  return Array.from(linesOutsideCode(source))
    .filter(({ text }) => text.length > DOCUMENT_LINE_MAX && !/^\s*(?:\||<|\[.*\]:)/.test(text))
    .map(({ line, text }) => ({ line, habit: "wideLine", text }));
}

/** A fence ends the paragraph before it: an empty line stands in its place. */
function* linesOutsideCode(source: string): Generator<Prose> {
  let isCode = false;
  for (const [index, text] of source.split("\n").entries()) {
    const isFence = /^\s*```/.test(text);
    if (isFence) isCode = !isCode;
    if (isFence || !isCode) yield { line: index + 1, text: isFence ? "" : text };
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The list of changes speaks of the past, and vectors are others' files. */
const NOT_OURS = /(?:^|\/)(?:CHANGELOG\.md|package-lock\.json)$|^(?:test|docs)\/.*(?:vectors|fixtures?)\//;

/** All prose that the repository keeps: paths relative to the repository, sorted. */
export function filesWithProse(): { path: string; text: string }[] {
  return execFileSync("git", ["ls-files", "-z"], { cwd: REPOSITORY, encoding: "utf8", maxBuffer: 1 << 26 })
    .split("\0")
    .filter((path) => /\.(?:ts|mts|py|md)$/.test(path) && !NOT_OURS.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(REPOSITORY, path), "utf8") }));
}

/** The row of a file: two levels below `src` (`src/runtime/node`), one level of `docs`, else the first folder; files at the root have one each. */
export function folderOf(path: string): string {
  const folders = path.split("/").slice(0, -1);
  if (folders.length === 0) return path;
  return folders.slice(0, folders[0] === "src" ? 3 : folders[0] === "docs" ? 2 : 1).join("/");
}
