"""The least that a client on asyncio can take: a line to `cat` and back, no protocol."""

import asyncio
import os
import shutil
import subprocess
import sys

from measuring import figures  # isort: skip

LINE = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}]}}\n'


async def main() -> None:
    """Write, wait until the loop says that there is something, read."""
    seconds, many, _ = sys.argv[1:]
    loop = asyncio.get_running_loop()
    echo = shutil.which("cat") or "cat"
    with subprocess.Popen(
        [echo], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        to, back = child.stdin.fileno(), child.stdout.fileno()
        answer: asyncio.Future[bytes] = loop.create_future()
        loop.add_reader(back, lambda: answer.set_result(os.read(back, 65536)))

        async def call() -> None:
            nonlocal answer
            answer = loop.create_future()
            os.write(to, LINE)
            await answer

        await figures(call, float(seconds), int(many))
        loop.remove_reader(back)
        child.stdin.close()


asyncio.run(main())
