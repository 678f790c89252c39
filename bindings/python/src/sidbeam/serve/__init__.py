"""``sidbeam serve``: a recommendation service over HTTP, in one process (``pip install sidbeam[serve]``).

    sidbeam serve --model MODEL --index catalogue.sidx --offsets 3,259,515
    curl -H 'Content-Type: application/json' -d '{"histories": [[17, 4, 99]]}' http://127.0.0.1:8080/recommend

Its contract, which the services in Go and Java have too, is samples/service.yaml of the sources. One event loop answers
(Starlette, uvicorn), the runner's lanes do the work. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from typing import Optional, Sequence

from .options import parse


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Serves, by the arguments of a command line; returns the process's status."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        from .server import run
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in ("starlette", "uvicorn", "h11"):
            raise
        print(f"sidbeam serve: {name} is not installed: pip install 'sidbeam[serve]'", file=sys.stderr)
        return 1
    return run(options)
