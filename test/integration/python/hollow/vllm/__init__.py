"""vLLM without a model: what `python/shoal/llm.py` uses of it, with the same names and forms of answers. It repeats the words that it is asked."""

import asyncio


class AsyncEngineArgs:
    def __init__(self, model, **given):
        self.model = model
        self.given = given


class SamplingParams:
    def __init__(self, n=1, output_kind=None, max_tokens=16, stop=None, temperature=1.0, top_p=1.0, seed=None, presence_penalty=0.0, frequency_penalty=0.0, top_k=0, logit_bias=None, structured_outputs=None):
        if top_k < -1:
            raise ValueError("top_k must be 0 (disable), or at least 1, got %d." % top_k)
        self.max_tokens = max_tokens
        self.stop = stop
        self.told = "top_k=%r logit_bias=%r structured=%r" % (top_k, logit_bias, structured_outputs and structured_outputs.json)


class PoolingParams:
    def __init__(self, dimensions=None):
        self.dimensions = dimensions


class _Record:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class _Tokenizer:
    def apply_chat_template(self, messages, tools=None, tokenize=True, add_generation_prompt=False):
        assert tokenize is False and add_generation_prompt is True
        return " ".join(message["content"] for message in messages)


class AsyncLLMEngine:
    @classmethod
    def from_engine_args(cls, args):
        engine = cls()
        engine.log = args.given["log"]
        return engine

    async def get_tokenizer(self):
        return _Tokenizer()

    async def generate(self, prompt, params, request_id):
        if prompt == "params":
            prompt = params.told
        words = prompt.split() if isinstance(prompt, str) else [str(token) for token in prompt["prompt_token_ids"]]
        count = min(len(words), params.max_tokens)
        for index in range(count):
            if words[0] == "slow":
                await asyncio.sleep(0.05)
            is_last = index == count - 1
            reason = None if not is_last else "length" if count < len(words) else "stop"
            piece = _Record(token_ids=[index], text=words[index] + " ", finish_reason=reason)
            yield _Record(outputs=[piece], prompt_token_ids=list(range(len(words))))

    async def encode(self, prompt, params, request_id):
        words = prompt.split()
        yield _Record(outputs=_Record(data=[float(len(words))] * (params.dimensions or 3)), prompt_token_ids=list(range(len(words))))

    async def abort(self, request_id):
        with open(self.log, "a") as file:
            file.write("aborted\n")
