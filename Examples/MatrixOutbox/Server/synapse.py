"""Synapse on 127.0.0.1, with a configuration and data of its own in a folder."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import pathlib
import secrets
import signal
import socket
import time
import urllib.error
import urllib.parse
import urllib.request

TOKEN_SECONDS = 5

# The end of the input is the end of the process that started the server, however it ended.
RUNNER = """
import os, runpy, sys, threading
threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(1)), daemon=True).start()
runpy.run_module("synapse.app.homeserver", run_name="__main__")
"""
PYTHON = pathlib.Path(__file__).resolve().parents[3] / ".build/synapse/bin/python"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def request(method, url, body=None, token=None, headers=None, timeout=30):
    """Returns the status, the headers and the JSON of an answer, whatever the status."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    message = urllib.request.Request(url, data, {"Content-Type": "application/json"} | (headers or {}), method=method)
    if token:
        message.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(message, timeout=timeout) as answer:
            return answer.status, answer.headers, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        text = error.read()
        try:
            return error.code, error.headers, json.loads(text)
        except ValueError:
            return error.code, error.headers, text.decode(errors="replace")


def expect(method, url, body=None, token=None):
    """Returns the JSON of an answer that has to be a success; waits as long as the server asks."""
    while True:
        status, _, answer = request(method, url, body, token)
        if status == 429:
            time.sleep(answer["retry_after_ms"] / 1000)
        elif status != 200:
            raise RuntimeError(f"{method} {url}: {status} {answer}")
        else:
            return answer


PREFIX = "/_matrix/client/v3"


class Synapse:
    """A server process, and what a client needs to use it."""

    def __init__(self, folder, limits="raised"):
        self.folder = pathlib.Path(folder).resolve()
        self.limits = limits
        self.process = None
        self.configuration = self.folder / "homeserver.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.configuration.exists():
            self.configuration.write_text(json.dumps(self._generate(), indent=2))
        self.settings = json.loads(self.configuration.read_text())
        self.url = f"http://127.0.0.1:{self.settings['listeners'][0]['port']}"

    def _generate(self):
        """The configuration; JSON is YAML too."""
        seed = base64.b64encode(secrets.token_bytes(32)).decode().rstrip("=")
        plenty = {"per_second": 10_000, "burst_count": 10_000}
        settings = {
            "server_name": "localhost",
            "report_stats": False,
            "pid_file": str(self.folder / "synapse.pid"),
            "listeners": [
                {
                    "port": free_port(),
                    "bind_addresses": ["127.0.0.1"],
                    "type": "http",
                    "resources": [{"names": ["client"]}],
                }
            ],
            "database": {"name": "sqlite3", "args": {"database": str(self.folder / "homeserver.sqlite")}},
            "media_store_path": str(self.folder / "media"),
            "max_upload_size": "1M",
            "signing_key": f"ed25519 a_key {seed}",
            "macaroon_secret_key": secrets.token_hex(16),
            "form_secret": secrets.token_hex(16),
            "registration_shared_secret": secrets.token_hex(16),
            # No federation, no key servers: it speaks to nobody.
            "federation_domain_whitelist": [],
            "trusted_key_servers": [],
            "enable_metrics": False,
            "url_preview_enabled": False,
            # Of a login that asks for it.
            "refreshable_access_token_lifetime": f"{TOKEN_SECONDS}s",
            "presence": {"enabled": False},
            # What sets the rooms up is not what is tested.
            "rc_login": {"address": plenty, "account": plenty, "failed_attempts": plenty},
            "rc_registration": plenty,
            "rc_joins": {"local": plenty, "remote": plenty},
            "rc_joins_per_room": plenty,
            "rc_invites": {"per_room": plenty, "per_user": plenty, "per_issuer": plenty},
            "rc_room_creation": plenty,
        }
        if self.limits == "raised":
            settings["rc_message"] = plenty
            settings["rc_media_create"] = plenty
        return settings

    async def start(self):
        """Starts the process and waits until it answers; returns the seconds."""
        begun = time.monotonic()
        with open(self.folder / "synapse.log", "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                str(PYTHON), "-c", RUNNER, "-c", str(self.configuration),
                cwd=self.folder, stdin=asyncio.subprocess.PIPE, stdout=log, stderr=log,
                env=os.environ | {"SYNAPSE_CACHE_FACTOR": "0.5"},
            )  # fmt: skip
        while not await asyncio.to_thread(self.answers):
            if self.process.returncode is not None:
                raise RuntimeError(f"Synapse has ended: see {self.folder / 'synapse.log'}")
            await asyncio.sleep(0.1)
        return time.monotonic() - begun

    def answers(self):
        try:
            return request("GET", self.url + "/_matrix/client/versions", timeout=2)[0] == 200
        except OSError:
            return False

    async def stop(self, number=signal.SIGTERM):
        if self.process and self.process.returncode is None:
            self.process.send_signal(number)
            await self.process.wait()

    def register(self, name, password, is_admin=False):
        """Registers a user by the shared secret; one that is there already is fine."""
        url = self.url + "/_synapse/admin/v1/register"
        nonce = expect("GET", url)["nonce"]
        text = "\0".join([nonce, name, password, "admin" if is_admin else "notadmin"])
        secret = self.settings["registration_shared_secret"].encode()
        mac = hmac.new(secret, text.encode(), hashlib.sha1).hexdigest()
        user = {"nonce": nonce, "username": name, "password": password, "admin": is_admin, "mac": mac}
        status, _, answer = request("POST", url, user)
        if status != 200 and answer.get("errcode") != "M_USER_IN_USE":
            raise RuntimeError(f"registering {name}: {status} {answer}")

    def log_in(self, name, password, device, expires=False):
        """Logs in; a token that expires does so after TOKEN_SECONDS, and its device stays."""
        body = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": name},
            "password": password,
            "device_id": device,
            "refresh_token": expires,
        }
        answer = expect("POST", f"{self.url}{PREFIX}/login", body)
        return {
            "user": answer["user_id"],
            "password": password,
            "device": answer["device_id"],
            "token": answer["access_token"],
        }

    def make_room(self, token):
        """Makes a room that all users may join; its name."""
        return expect("POST", f"{self.url}{PREFIX}/createRoom", {"preset": "public_chat"}, token)["room_id"]

    def join(self, room, token):
        expect("POST", f"{self.url}{PREFIX}/join/{urllib.parse.quote(room)}", {}, token)
