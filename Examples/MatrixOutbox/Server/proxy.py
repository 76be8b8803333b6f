"""A bad network before a server: TCP connections that are refused, cut, delayed, or answered by nobody."""

import asyncio

MODES = ("pass", "refuse", "drop", "delay", "late")


class Proxy:
    """Copies bytes between clients and the server.

    - pass: as they are
    - refuse: nobody listens, and open connections are reset
    - drop: connections are accepted and closed when the first bytes come; open ones are reset
    - delay: each piece of a request waits for some seconds
    - late: requests reach the server, and their answers are lost: the connection is closed instead
    """

    def __init__(self, target_port):
        self.target_port = target_port
        self.port = 0
        self.mode = "pass"
        self.seconds = 0.0
        # Requests that send a message, by mode.
        self.counts = {mode: 0 for mode in MODES}
        self._listener = None
        self._writers = set()

    async def listen(self):
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def set(self, mode, seconds=0.0):
        if mode not in MODES:
            raise ValueError(f"'{mode}' is none of {', '.join(MODES)}")
        self.mode, self.seconds = mode, seconds
        if mode == "refuse" and self._listener:
            self._listener.close()
            self._listener = None
        elif mode != "refuse" and not self._listener:
            await self.listen()
        if mode in ("refuse", "drop"):
            for writer in list(self._writers):
                writer.transport.abort()

    async def _accept(self, reader, writer):
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            # The server is down.
            writer.transport.abort()
            self._writers.discard(writer)
            return
        self._writers.add(far_writer)
        try:
            await asyncio.gather(
                self._copy(reader, far_writer, self._request), self._copy(far_reader, writer, self._answer)
            )
        except asyncio.CancelledError:
            # The end of the program; asyncio would report it.
            pass
        finally:
            for one in (writer, far_writer):
                one.transport.abort()
                self._writers.discard(one)

    async def _copy(self, reader, writer, allows):
        try:
            while data := await reader.read(65536):
                if not await allows(data):
                    break
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            # The end of one direction is the end of both: HTTP clients close when they are done.
            writer.close()

    async def _request(self, data):
        """Whether bytes of a client go on to the server."""
        self.counts[self.mode] += data.count(b"PUT /_matrix/client/v3/rooms/")
        if self.mode == "delay":
            await asyncio.sleep(self.seconds)
        return self.mode not in ("drop", "refuse")

    async def _answer(self, _):
        """Whether bytes of the server go on to the client."""
        return self.mode != "late"
