"""A tiny model in ONNX: each word is followed by the next of its vocabulary, and embeddings are one-hot."""
import json, os, sys
import numpy
from onnx import TensorProto, helper, numpy_helper, save

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "one", "two", "three", "four", "five", "user", "assistant"]

def model(path, output, table):
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], [output])],
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"]), helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", "sequence", table.shape[1]])],
        [numpy_helper.from_array(table, "table")],
    )
    os.makedirs(os.path.dirname(path), exist_ok=True)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)

def write(folder, config, output, table):
    model(os.path.join(folder, "onnx", "model.onnx"), output, table)
    special = [{"id": i, "content": w, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, w in enumerate(WORDS[:4])]
    files = {
        "config.json": config,
        "generation_config.json": {"eos_token_id": 3, "pad_token_id": 0},
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "model_max_length": 64,
            "chat_template": "{% for message in messages %}{{ message.role }} {{ message.content }} {% endfor %}{% if add_generation_prompt %}four{% endif %}"},
        "tokenizer.json": {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {w: i for i, w in enumerate(WORDS)}}},
    }
    for name, value in files.items():
        with open(os.path.join(folder, name), "w") as f:
            json.dump(value, f)

size = len(WORDS)
following = numpy.zeros((size, size), numpy.float32)
for word in range(size):
    # "five" is followed by the end.
    following[word, 3 if WORDS[word] == "five" else min(word + 1, size - 1)] = 10
write(os.path.join(sys.argv[1], "words"), {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": size, "n_head": 1, "n_layer": 1, "n_embd": 4, "eos_token_id": 3}, "logits", following)
write(os.path.join(sys.argv[1], "vectors"), {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": size, "hidden_size": size}, "last_hidden_state", numpy.eye(size, dtype=numpy.float32))
