import asyncio, os, sys, time
import websockets


async def visit(url, token):
    async with websockets.connect(url, extra_headers={"Authorization": "Bearer " + token} if token else {}, open_timeout=60) as socket:
        await socket.send(token or "no token")
        print(await socket.recv())
        print(await socket.recv())


began = time.monotonic()
try:
    asyncio.run(visit(sys.argv[1].replace("http", "ws", 1), os.environ.get("TOKEN")))
except (OSError, websockets.WebSocketException) as e:
    sys.exit(f"failed: {e}")
finally:
    print("took", (time.monotonic() - began) * 1000, file=sys.stderr)
