"""A tiny model in GGUF with random weights: what it says means nothing, and it says it by llama.cpp."""
import sys

import gguf
import numpy

WIDTH, HEADS, INNER, CONTEXT = 32, 2, 64, 512
tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % byte for byte in range(256)] + [("\u2581" + word).encode() for word in ("one", "two", "three")] + [b"\xe2\x96\x81"]
kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * 4
random = numpy.random.default_rng(7)


def weights(*shape):
    return random.standard_normal(shape).astype(numpy.float32) * 0.1


writer = gguf.GGUFWriter(sys.argv[1], "llama")
writer.add_context_length(CONTEXT)
writer.add_embedding_length(WIDTH)
writer.add_block_count(1)
writer.add_feed_forward_length(INNER)
writer.add_head_count(HEADS)
writer.add_head_count_kv(HEADS)
writer.add_rope_dimension_count(WIDTH // HEADS)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_vocab_size(len(tokens))
writer.add_tokenizer_model("llama")
writer.add_token_list(tokens)
writer.add_token_scores([0.0] * len(tokens))
writer.add_token_types(kinds)
writer.add_bos_token_id(1)
writer.add_eos_token_id(2)
writer.add_unk_token_id(0)
writer.add_tensor("token_embd.weight", weights(len(tokens), WIDTH))
writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, numpy.float32))
writer.add_tensor("output.weight", weights(len(tokens), WIDTH))
for name in ("attn_norm", "ffn_norm"):
    writer.add_tensor("blk.0.%s.weight" % name, numpy.ones(WIDTH, numpy.float32))
for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
    writer.add_tensor("blk.0.%s.weight" % name, weights(WIDTH, WIDTH))
writer.add_tensor("blk.0.ffn_gate.weight", weights(INNER, WIDTH))
writer.add_tensor("blk.0.ffn_up.weight", weights(INNER, WIDTH))
writer.add_tensor("blk.0.ffn_down.weight", weights(WIDTH, INNER))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
