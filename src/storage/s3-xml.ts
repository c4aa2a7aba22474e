/** The little XML that S3 speaks: flat elements, found by their names. */

/** The texts of all elements of a name, with their entities replaced where they hold no elements. */
export function elements(xml: string, name: string): string[] {
  return Array.from(xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, "g")), ([, inner]) => inner as string);
}

/** The text of the first element of a name; undefined where there is none. */
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
