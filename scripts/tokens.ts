/**
 * How many tokens a source file of TypeScript has, comments and white space left out: a measure of code that neither formatting nor documentation moves.
 *
 * TypeScript's own scanner does the work. It leaves two decisions to a parser: whether a slash begins a regular expression, which the token before it tells, and
 * whether a brace goes on with a template, which counting braces tells. A chunk of a template counts as one token, as a string does.
 */
import { SyntaxKind } from "typescript/unstable/ast";
import { createScanner } from "typescript/unstable/ast/scanner";

/** After these, and after names, a slash divides; after every other token it begins a regular expression. */
const ENDS_OF_OPERANDS = new Set([
  SyntaxKind.PrivateIdentifier,
  SyntaxKind.NumericLiteral,
  SyntaxKind.BigIntLiteral,
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.CloseParenToken,
  SyntaxKind.CloseBracketToken,
  SyntaxKind.CloseBraceToken,
  SyntaxKind.ThisKeyword,
  SyntaxKind.NullKeyword,
  SyntaxKind.PlusPlusToken,
  SyntaxKind.MinusMinusToken,
]);

/** @throws Error for a text that is no TypeScript */
export function countTokens(text: string): number {
  const scanner = createScanner(true, undefined, text);
  /** Of each open template, innermost last, the braces that are open in its expression. */
  const templates: number[] = [];
  let previous: SyntaxKind = SyntaxKind.Unknown;
  for (let count = 0; ; count += 1) {
    let token = scanner.scan();
    const isSlash = token === SyntaxKind.SlashToken || token === SyntaxKind.SlashEqualsToken;
    if (isSlash && !divides(previous)) token = scanner.reScanSlashToken();
    if (token === SyntaxKind.CloseBraceToken && templates.at(-1) === 0) token = scanner.reScanTemplateToken(false);
    const depth = templates.length - 1;
    if (token === SyntaxKind.TemplateHead) templates.push(0);
    else if (token === SyntaxKind.TemplateTail) templates.pop();
    else if (token === SyntaxKind.OpenBraceToken && depth >= 0) templates[depth] = (templates[depth] as number) + 1;
    else if (token === SyntaxKind.CloseBraceToken && depth >= 0) templates[depth] = (templates[depth] as number) - 1;
    if (scanner.isUnterminated() || token === SyntaxKind.Unknown) {
      throw new Error(`Cannot count the tokens: there is something else at character ${scanner.getTokenStart()}`);
    }
    if (token === SyntaxKind.EndOfFile) return count;
    previous = token;
  }
}

/** Words that are not reserved (`of`, `type`) may be names. */
function divides(previous: SyntaxKind): boolean {
  const isName = previous === SyntaxKind.Identifier || (previous > SyntaxKind.LastReservedWord && previous <= SyntaxKind.LastKeyword);
  return isName || ENDS_OF_OPERANDS.has(previous);
}
