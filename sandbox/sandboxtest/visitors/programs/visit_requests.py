import os, sys, time
import requests

token, began = os.environ.get("TOKEN"), time.monotonic()
try:
    print(requests.Session().get(sys.argv[1], headers={"Authorization": "Bearer " + token} if token else {}, timeout=60).text)
except requests.RequestException as e:
    sys.exit(f"failed: {e}")
finally:
    print("took", (time.monotonic() - began) * 1000, file=sys.stderr)
