"""A live catalogue in asyncio: new items come, searches go on, and a compaction is given up and done again.

SPDX-License-Identifier: Apache-2.0"""

import asyncio
import pathlib
import tempfile

import numpy as np

import sidbeam

CODES = 64
PUBLISHES, ITEMS = 20, 50  # of the producer, and new items of each
rng = np.random.default_rng(1)


async def produce(catalog: sidbeam.Catalog) -> None:
    """New items, and at last one that goes again. Nobody sees them before they are published, and then all at once."""
    for number in range(PUBLISHES):
        ids = 1_000_000 + ITEMS * number + np.arange(ITEMS)
        await sidbeam.to_thread(catalog.add, rng.integers(0, CODES, (ITEMS, 3)), ids)
        await sidbeam.to_thread(catalog.publish)
    catalog.remove([1_000_000])
    catalog.publish()


def search(index: sidbeam.Index) -> list[sidbeam.Recommendation]:
    """One request, of the version that it began with; a model would stand where the random logits do."""
    with sidbeam.Session(index, beams=10) as session:
        beams = session.start()
        while beams.active[0] > 0:
            session.step(np.random.default_rng(2).normal(size=(1, 10, CODES)).astype(np.float32))
        return session.recommendations()[0]


async def serve(catalog: sidbeam.Catalog, until: asyncio.Event) -> int:
    """Requests, each on the newest version, until all items are there; returns how many had an answer."""
    answered = 0
    while not until.is_set():
        with catalog.snapshot() as newest:
            answered += bool(await sidbeam.to_thread(search, newest))
    return answered


async def main(folder: pathlib.Path) -> None:
    base = sidbeam.Index.build(rng.integers(0, CODES, (200_000, 3)), codes=CODES)
    with sidbeam.Catalog.create(base, folder, sync="interval", sync_interval=0.1) as catalog:
        done = asyncio.Event()
        serving = asyncio.create_task(serve(catalog, done))
        producing = asyncio.create_task(produce(catalog))
        try:  # at a rate at which it would take most of a minute; a timeout, or a cancelled task, ends it
            await asyncio.wait_for(sidbeam.to_thread(catalog.compact, bytes_per_second=100_000), timeout=0.2)
        except asyncio.TimeoutError:
            print(f"given up: generation {catalog.info.generation}")
        await sidbeam.to_thread(catalog.compact)
        await producing
        done.set()
        info = catalog.info
        print(f"compacted: generation {info.generation}, {info.items:,} items")
        print(f"requests went on: {await serving > 0}")


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(pathlib.Path(place) / "catalogue"))
