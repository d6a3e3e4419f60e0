"""A stand-in for an OpenAI-compatible embeddings endpoint on loopback: hashed words, no model, the same vectors always.

usage: embeddings.py PORT"""
import hashlib
import json
import math
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSIONS = 1536  # what Hindsight expects of its default OpenAI model


def embed(text):
    v = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()) or [""]:
        h = hashlib.sha256(word.encode()).digest()
        v[int.from_bytes(h[:4], "big") % DIMENSIONS] += 1.0 if h[4] & 1 else -1.0
    norm = math.sqrt(sum(x * x for x in v)) or 1.0
    return [x / norm for x in v]


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
