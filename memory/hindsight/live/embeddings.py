"""An OpenAI-compatible embeddings endpoint on loopback, for the live test.

usage: embeddings.py PORT [MODEL]

MODEL is a directory with a sentence model: model.onnx and tokenizer.json, as all-MiniLM-L6-v2 has them. Without one the
vectors are hashed words: no meaning, but the same ones always."""
import hashlib
import json
import math
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSIONS = 1536  # what Hindsight expects of its default OpenAI model


def hashed(text):
    v = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()) or [""]:
        h = hashlib.sha256(word.encode()).digest()
        v[int.from_bytes(h[:4], "big") % DIMENSIONS] += 1.0 if h[4] & 1 else -1.0
    norm = math.sqrt(sum(x * x for x in v)) or 1.0
    return [x / norm for x in v]


def loaded(directory):
    """Mean of the last layer over the text's tokens, filled up with zeros, which changes no angle."""
    import numpy
    import onnxruntime
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(directory + "/tokenizer.json")
    tokenizer.enable_truncation(256)
    session = onnxruntime.InferenceSession(directory + "/model.onnx", providers=["CPUExecutionProvider"])
    names = {i.name for i in session.get_inputs()}

    def run(text):
        e = tokenizer.encode(text)
        inputs = {"input_ids": e.ids, "attention_mask": e.attention_mask, "token_type_ids": e.type_ids}
        out = session.run(None, {k: numpy.array([v], dtype=numpy.int64) for k, v in inputs.items() if k in names})[0]
        if out.ndim == 3:
            mask = numpy.array(e.attention_mask, dtype=out.dtype)[:, None]
            out = (out[0] * mask).sum(0) / mask.sum()
        else:
            out = out[0]
        out = out / (numpy.linalg.norm(out) or 1.0)
        return [float(x) for x in out] + [0.0] * (DIMENSIONS - len(out))

    return run


embed = loaded(sys.argv[2]) if len(sys.argv) > 2 else hashed


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [{"object": "embedding", "index": i, "embedding": embed(str(t))} for i, t in enumerate(texts)]
        out = json.dumps({"object": "list", "model": body.get("model", "hash"), "data": data,
                          "usage": {"prompt_tokens": 0, "total_tokens": 0}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
