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

const COMMENTS: ReadonlySet<SyntaxKind> = new Set([SyntaxKind.SingleLineCommentTrivia, SyntaxKind.MultiLineCommentTrivia]);
const TRIVIA: ReadonlySet<SyntaxKind> = new Set([...COMMENTS, SyntaxKind.NewLineTrivia, SyntaxKind.WhitespaceTrivia]);

/** @throws Error for a text that is no TypeScript */
export function countTokens(text: string): number {
  let count = 0;
  for (const _token of tokensOf(text, { withTrivia: false })) count += 1;
  return count;
}

/**
 * Yields each comment of a TypeScript text with the offset of the comment's first character. @throws Error for a text that is no TypeScript
 */
export function* commentsOf(text: string): Generator<{ start: number; text: string }> {
  for (const { kind, start, end } of tokensOf(text, { withTrivia: true }))
    if (COMMENTS.has(kind)) yield { start, text: text.slice(start, end) };
}

function* tokensOf(text: string, { withTrivia }: { withTrivia: boolean }): Generator<{ kind: SyntaxKind; start: number; end: number }> {
  // With trivia the scanner takes the first line of a program for a fault.
  const scanner = createScanner(!withTrivia, undefined, text.replace(/^#!/, "//"));
  /** For each open template, innermost last, the braces that are open in its expression. */
  const templates: number[] = [];
  let previous: SyntaxKind = SyntaxKind.Unknown;
  for (;;) {
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
    if (token === SyntaxKind.EndOfFile) return;
    yield { kind: token, start: scanner.getTokenStart(), end: scanner.getTokenEnd() };
    if (!TRIVIA.has(token)) previous = token;
  }
}

/** Words that are not reserved (`of`, `type`) may be names. */
function divides(previous: SyntaxKind): boolean {
  const isName = previous === SyntaxKind.Identifier || (previous > SyntaxKind.LastReservedWord && previous <= SyntaxKind.LastKeyword);
  return isName || ENDS_OF_OPERANDS.has(previous);
}
