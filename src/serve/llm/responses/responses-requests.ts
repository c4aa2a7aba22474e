/**
 * Requests to `/v1/responses`: from a client's items to the messages of a chat, the form that engines know. Pure.
 *
 * Decides what is refused, by field: items and tools that OpenAI's own servers run, and everything that needs a kept response. Nothing is kept here, so a client sends
 * the whole conversation. Fields that are not named here go to the engine as they came.
 */
import { isPlainObject } from "../../../core/internal.ts";
import type { ChatMessage, ChatRequest, ContentPart } from "../engine.ts";
import { type Body, Fields, wholeFrom, wrong } from "../openai/request-fields.ts";

interface ReadResponses {
  readonly request: ChatRequest;
  readonly streams: boolean;
  /** Fields of the request that the answer repeats. */
  readonly repeated: Body;
}

const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant"]);
/** OpenAI's own limits of `metadata`. */
const METADATA_MAX = 16;
const METADATA_TEXT_MAX = 512;
/** Fields without a meaning for an engine. */
const WITHOUT_MEANING = [
  "store",
  "stream_options",
  "service_tier",
  "truncation",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "max_tool_calls",
];
const KEPT = "this server keeps no responses: leave it out, and send the whole conversation as input";

/** @throws LLMRequestError that names the field */
export function readResponses(body: unknown): ReadResponses {
  const fields = new Fields(body);
  fields.model();
  const instructions = fields.optional("instructions", isText, "a text") as string | undefined;
  const messages = messagesOf(fields.take("input"));
  for (const name of ["previous_response_id", "conversation", "prompt"]) fields.optional(name, () => false, KEPT);
  fields.optional("background", (value) => value === false, "false, as this server keeps no responses,");
  const include = fields.optional("include", isIncluded, 'an array of "reasoning.encrypted_content" at most');
  fields.optional("top_logprobs", (value) => value === 0, "0, as answers of this form have no log probabilities,");
  fields.optional("n", (value) => value === 1, "1");
  fields.bestOf();
  const streams = fields.flag("stream") === true;
  const metadata = fields.optional("metadata", isMetadata, `at most ${METADATA_MAX} texts of up to ${METADATA_TEXT_MAX} characters`);
  const maxTokens = fields.optional("max_output_tokens", ...wholeFrom(1)) as number | undefined;
  const [temperature, topP] = [fields.number("temperature", 0, 2), fields.number("top_p", 0, 1)];
  const tools = fields.optional("tools", Array.isArray, "an array of tools") as unknown[] | undefined;
  const choice = fields.take("tool_choice");
  const parallel = fields.flag("parallel_tool_calls");
  const text = fields.object("text");
  const reasoning = fields.object("reasoning");
  for (const name of WITHOUT_MEANING) fields.take(name);
  const extra = {
    ...(tools !== undefined && tools.length > 0 && { tools: tools.map(toolOf) }),
    ...(choice !== undefined && { tool_choice: toolChoiceOf(choice) }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
    ...formatOf(text),
    ...(reasoning?.["effort"] !== undefined && reasoning["effort"] !== null && { reasoning_effort: reasoning["effort"] }),
  };
  const sampling = fields.sampling();
  return {
    streams,
    request: {
      ...sampling,
      messages: instructions === undefined ? messages : [{ role: "system", content: instructions }, ...messages],
      maxTokens: maxTokens ?? sampling.maxTokens,
      temperature,
      topP,
      extra: { ...sampling.extra, ...extra },
    },
    repeated: {
      instructions: instructions ?? null,
      max_output_tokens: maxTokens ?? null,
      metadata: metadata ?? {},
      parallel_tool_calls: parallel ?? true,
      reasoning: { effort: reasoning?.["effort"] ?? null, summary: null },
      temperature: temperature ?? null,
      text: { format: text?.["format"] ?? { type: "text" } },
      tool_choice: choice ?? "auto",
      tools: tools ?? [],
      top_p: topP ?? null,
      ...(include !== undefined && { include }),
    },
  };
}

function messagesOf(input: unknown): ChatMessage[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (!Array.isArray(input) || input.length === 0) throw wrong("input", "a text or an array with at least one item is needed", input);
  const messages: ChatMessage[] = [];
  for (const [index, item] of input.entries()) {
    const at = `input[${index}]`;
    if (!isPlainObject(item)) throw wrong(at, "an object is needed", item);
    addItem(messages, item, at);
  }
  if (messages.length === 0) throw wrong("input", "at least one message is needed", input);
  return messages;
}

function addItem(messages: ChatMessage[], item: Body, at: string): void {
  const { type = "message" } = item;
  switch (type) {
    case "message":
      messages.push(messageOf(item, at));
      return;
    case "function_call":
      addCall(messages, item, at);
      return;
    case "function_call_output":
      messages.push({ role: "tool", tool_call_id: textAt(item, "call_id", at), content: contentOf(item["output"], `${at}.output`) });
      return;
    case "reasoning":
      // A client returns the thoughts of earlier answers. Engines have no place for them.
      return;
    default:
      throw wrong(`${at}.type`, "one of message, function_call, function_call_output, reasoning is needed", type);
  }
}

function messageOf({ role, content }: Body, at: string): ChatMessage {
  if (!ROLES.has(role)) throw wrong(`${at}.role`, `one of ${[...ROLES].join(", ")} is needed`, role);
  return { role: role as ChatMessage["role"], content: contentOf(content, `${at}.content`) };
}

/** Calls that one answer made belong to one message. */
function addCall(messages: ChatMessage[], item: Body, at: string): void {
  const call = {
    id: textAt(item, "call_id", at),
    type: "function",
    function: { name: textAt(item, "name", at), arguments: textAt(item, "arguments", at) },
  };
  const last = messages.at(-1);
  if (last?.role !== "assistant") {
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
    return;
  }
  const earlier = (last["tool_calls"] ?? []) as readonly object[];
  messages[messages.length - 1] = { ...last, tool_calls: [...earlier, call] };
}

/** Texts alone are joined, as most templates of chats know nothing else. */
function contentOf(content: unknown, at: string): string | ContentPart[] {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw wrong(at, "a text or an array of parts is needed", content);
  const parts = content.map((part, index) => partOf(part, `${at}[${index}]`));
  return parts.every(({ type }) => type === "text") ? parts.map(({ text = "" }) => text).join("") : parts;
}

function partOf(part: unknown, at: string): ContentPart {
  if (!isPlainObject(part)) throw wrong(at, "an object with a type is needed", part);
  const fields = part as Body;
  switch (fields["type"]) {
    case "input_text":
    case "output_text":
      return { type: "text", text: textAt(fields, "text", at) };
    case "refusal":
      return { type: "text", text: textAt(fields, "refusal", at) };
    case "input_image": {
      const { detail = "auto" } = fields;
      return { type: "image_url", image_url: { url: textAt(fields, "image_url", at), detail } };
    }
    case "input_file":
      return { type: "file", file: { file_data: textAt(fields, "file_data", at), filename: fields["filename"] ?? null } };
    default:
      throw wrong(`${at}.type`, "one of input_text, output_text, refusal, input_image, input_file is needed", fields["type"]);
  }
}

/** Chats have the description of a function one level deeper. */
function toolOf(tool: unknown, index: number): object {
  const at = `tools[${index}]`;
  if (!isPlainObject(tool)) throw wrong(at, "an object is needed", tool);
  const { type, ...described } = tool as Body;
  if (type !== "function") throw wrong(`${at}.type`, '"function" is needed, as this server runs no tools itself', type);
  textAt(described, "name", at);
  return { type, function: described };
}

function toolChoiceOf(choice: unknown): unknown {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (isPlainObject(choice) && (choice as Body)["type"] === "function")
    return { type: "function", function: { name: textAt(choice, "name", "tool_choice") } };
  throw wrong("tool_choice", '"auto", "none", "required" or a function is needed', choice);
}

function formatOf(text: Body | undefined): Body {
  const { format, verbosity } = text ?? {};
  const more = verbosity === undefined || verbosity === null ? {} : { verbosity };
  if (format === undefined || format === null) return more;
  const { type, ...schema } = isPlainObject(format) ? (format as Body) : {};
  if (type === "text") return more;
  if (type === "json_object") return { ...more, response_format: { type } };
  if (type === "json_schema") return { ...more, response_format: { type, json_schema: schema } };
  throw wrong("text.format", 'an object with the type "text", "json_object" or "json_schema" is needed', format);
}

function textAt(fields: Body, name: string, at: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw wrong(`${at}.${name}`, "a text is needed", value);
  return value;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isIncluded(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => name === "reasoning.encrypted_content");
}

function isMetadata(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const entries = Object.entries(value as Body);
  return entries.length <= METADATA_MAX && entries.every(([, text]) => typeof text === "string" && text.length <= METADATA_TEXT_MAX);
}
