/** The little XML that S3 speaks: flat elements, found by their names. */

/**
 * Returns the texts of all elements of a name that have one. Entities are replaced only by `element`.
 *
 * Reads each character a fixed number of times, as servers are strangers: a pattern would look for the end of each of a million unclosed elements.
 */
export function elements(xml: string, name: string): string[] {
  const texts: string[] = [];
  const [open, close] = [`<${name}`, `</${name}>`];
  for (let at = xml.indexOf(open); at >= 0; at = xml.indexOf(open, at)) {
    at += open.length;
    // An element of another name that begins alike.
    if (!/[\s/>]/.test(xml.charAt(at))) continue;
    const tagEnd = xml.indexOf(">", at);
    if (tagEnd < 0) break;
    at = tagEnd + 1;
    if (xml.charAt(tagEnd - 1) === "/") continue;
    const end = xml.indexOf(close, at);
    if (end < 0) break;
    texts.push(xml.slice(at, end));
    at = end + close.length;
  }
  return texts;
}

/** The text of the first element of a name; undefined if there is none. */
export function element(xml: string, name: string): string | undefined {
  const [inner] = elements(xml, name);
  return inner === undefined ? undefined : unescaped(inner);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w+));/g, (found, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return ENTITIES[name] ?? found;
    const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : found;
  });
}

/** Escapes control characters too: as themselves, parsers drop some of them. */
export function escaped(text: string): string {
  return text.replace(/[&<>"'\p{Cc}]/gu, (character) => `&#${character.charCodeAt(0)};`);
}
