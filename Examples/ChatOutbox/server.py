#!/usr/bin/env python3
"""A chat server to try the outbox with. It keeps messages in memory, and is not easy to work with.

Usage: server.py [PORT]      prints its address; GET /messages has one line for each message, in order of arrival

A token serves for 40 calls, then the answer is 401. Each 25th call is answered 429. Of ten calls one has no answer,
before or after the message is stored. A body above 10,000 bytes is answered 413.

PUT /limit with a number has it stop at so many messages: further calls wait until another number is put, and then have
no answer. So a test can kill the outbox at a known moment.
"""

import http.server
import itertools
import json
import random
import sys
import threading

lock = threading.Condition()
limit = [float("inf")]
calls, logins = itertools.count(1), itertools.count(1)
left = {}
messages = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path != "/messages":
            return self.answer(200)
        with lock:
            lines = [json.dumps({"id": key, **message}) + "\n" for key, message in messages.items()]
        self.answer(200, "".join(lines).encode())

    def do_POST(self):
        name = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with lock:
            token = f"{name}-{next(logins)}"
            left[token] = 40
        self.answer(200, token.encode())

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/limit":
            with lock:
                limit[0] = float(body)
                lock.notify_all()
            return self.answer(200)
        folder, key = self.path.strip("/").split("/")
        self.change(body, lambda: folder == "messages" and messages.__setitem__(key, json.loads(body)) or 200)

    def do_DELETE(self):
        key = self.path.rsplit("/", 1)[1]
        self.change(b"", lambda: 200 if messages.pop(key, None) else 404)

    def change(self, body, perform):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        with lock:
            if len(messages) >= limit[0]:
                lock.wait()
                self.close_connection = True
                return
            fate = random.random()
            if left.get(token, 0) == 0:
                return self.answer(401)
            left[token] -= 1
            if next(calls) % 25 == 0:
                return self.answer(429, Retry_After=1)
            if len(body) > 10_000:
                return self.answer(413)
            status = perform() if fate > 0.05 else None
        if fate < 0.1:
            self.close_connection = True
        else:
            self.answer(status)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
