"""Defers jobs with procrastinate and runs them: `procrastinate_load.py URL defer QUEUES COUNT`, or `… work`."""

import asyncio
import sys

import procrastinate

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=sys.argv[1]))


@app.task(name="message")
async def message(text):
    pass


async def defer(queues, count):
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        # A lock for each conversation keeps its order.
        for first in range(0, count, 100):
            await asyncio.gather(*(
                app.configure_task("message", lock=f"conversation/{number % queues}").defer_async(text="Hello")
                for number in range(first, min(first + 100, count))))


async def work():
    async with app.open_async():
        await app.run_worker_async(concurrency=64, wait=False, install_signal_handlers=False)


asyncio.run(defer(int(sys.argv[3]), int(sys.argv[4])) if sys.argv[2] == "defer" else work())
