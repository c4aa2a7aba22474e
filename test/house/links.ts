/** Reads links out of Markdown. Web addresses are left out: tests need no network. */
import { posix } from "node:path";

interface Link {
  /** Document that has the link, relative to the repository. */
  readonly document: string;
  /** As written: `../src/index.ts#L1`. */
  readonly target: string;
  /** Linked file or folder, relative to the repository. */
  readonly file: string;
  readonly fragment: string | undefined;
}

/** Returns the relative links of a document: inline links, images and reference definitions, but none inside code. */
export function linksOf(document: string, text: string): Link[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "code");
  const targets = Array.from(
    prose.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)/gm),
    ([, inline, reference]) => inline ?? reference ?? "",
  );
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", fragment] = target.split("#");
      const file = path === "" ? document : posix.join(posix.dirname(document), path);
      return { document, target, file, fragment };
    });
}
