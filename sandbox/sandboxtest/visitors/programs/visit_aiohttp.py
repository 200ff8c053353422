import asyncio, os, sys, time
import aiohttp


async def visit(url, token):
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer " + token} if token else {}) as session:
        async with session.get(url, timeout=aiohttp.ClientTimeout(60)) as answer:
            print(await answer.text())


began = time.monotonic()
try:
    asyncio.run(visit(sys.argv[1], os.environ.get("TOKEN")))
except aiohttp.ClientError as e:
    sys.exit(f"failed: {e}")
finally:
    print("took", (time.monotonic() - began) * 1000, file=sys.stderr)
