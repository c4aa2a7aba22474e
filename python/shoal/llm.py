"""vLLM as an engine of `serve.llm`: the actor that `src/serve/llm/engines/vllm.ts` starts. Needs vLLM and a GPU."""

import asyncio
import itertools

#: Fields of requests that vLLM's SamplingParams has under the same names; OpenAI's API has `logit_bias` alone of them.
_SAMPLING = (
    "top_k",
    "min_p",
    "repetition_penalty",
    "min_tokens",
    "ignore_eos",
    "stop_token_ids",
    "bad_words",
    "allowed_token_ids",
    "include_stop_str_in_output",
    "skip_special_tokens",
    "spaces_between_special_tokens",
)


class VllmEngine:
    """Requests that run at the same time are batched by vLLM itself. Leaving a stream ends its request."""

    def __init__(self, model, engine_args):
        # Imported here: the package need not be where nobody serves with it.
        from vllm import AsyncEngineArgs, AsyncLLMEngine

        self._engine = AsyncLLMEngine.from_engine_args(AsyncEngineArgs(model=model, **engine_args))
        self._model = model
        self._ids = itertools.count()

    async def ready(self):
        await self._tokenizer()
        return self._model

    async def generate(self, kind, request):
        try:
            params = _sampling_params(request["sampling"], request["extra"])
        except (TypeError, ValueError) as error:
            yield {"refused": str(error)}
            return
        prompt = await self._chat_prompt(request) if kind == "chat" else _prompt(request["prompt"])
        request_id = f"shoal-{next(self._ids)}"
        completion_tokens = 0
        try:
            async for output in self._engine.generate(prompt, params, request_id):
                piece = output.outputs[0]
                completion_tokens += len(piece.token_ids)
                token = {"text": piece.text}
                if piece.finish_reason is not None:
                    token["finishReason"] = "length" if piece.finish_reason == "length" else "stop"
                    prompt_tokens = len(output.prompt_token_ids or ())
                    token["usage"] = {"promptTokens": prompt_tokens, "completionTokens": completion_tokens}
                yield token
        except (asyncio.CancelledError, GeneratorExit):
            await self._engine.abort(request_id)
            raise

    async def embed(self, inputs, dimensions):
        return await asyncio.gather(*(self._embed_one(text, dimensions) for text in inputs))

    async def _embed_one(self, text, dimensions):
        from vllm import PoolingParams

        params = PoolingParams() if dimensions is None else PoolingParams(dimensions=dimensions)
        async for output in self._engine.encode(_prompt(text), params, f"shoal-{next(self._ids)}"):
            last = output
        return {"vector": [float(value) for value in last.outputs.data], "promptTokens": len(last.prompt_token_ids)}

    async def _chat_prompt(self, request):
        tokenizer = await self._tokenizer()
        return tokenizer.apply_chat_template(
            request["messages"], tools=request.get("tools"), tokenize=False, add_generation_prompt=True
        )

    async def _tokenizer(self):
        tokenizer = self._engine.get_tokenizer()
        # A coroutine in most of vLLM's versions.
        return await tokenizer if asyncio.iscoroutine(tokenizer) else tokenizer


def _prompt(text):
    return text if isinstance(text, str) else {"prompt_token_ids": list(text)}


def _sampling_params(sampling, extra):
    """What vLLM knows of a request beside its prompt. :raises ValueError: for what the client is to change"""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    given = {name: extra[name] for name in _SAMPLING if name in extra}
    if "logit_bias" in extra:
        given["logit_bias"] = {int(token): float(bias) for token, bias in extra["logit_bias"].items()}
    constraint = _constraint(extra)
    if constraint:
        # Imported only here: older versions have another class.
        from vllm.sampling_params import StructuredOutputsParams

        given["structured_outputs"] = StructuredOutputsParams(**constraint)
    return SamplingParams(n=1, output_kind=RequestOutputKind.DELTA, **sampling, **given)


def _constraint(extra):
    """OpenAI's ``response_format``, or vLLM's own ``structured_outputs``, as arguments of StructuredOutputsParams."""
    form = extra.get("response_format")
    if form is None:
        return extra.get("structured_outputs")
    kind = form.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"json_object": True}
    if kind == "json_schema" and isinstance((form.get("json_schema") or {}).get("schema"), dict):
        return {"json": form["json_schema"]["schema"]}
    raise ValueError("Invalid response_format: text, json_object, or json_schema with a schema is needed: received %r" % (form,))
