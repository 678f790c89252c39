"""What inexact constraints lose of the exact search's M results: filtering afterwards (an unconstrained search whose
invalid results are dropped), and FlashRec's way (of each beam the best 2M codes, before they are masked).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

from world import World, drafter_of, hits, ranks, search, valid_first

BEAMS = (5, 10, 20, 50)
AT = 10
WAYS = {"exact": {}, "filtered afterwards": {"strategy": "none"}, "top 2M before the mask": {"strategy": "sorted_topk"}}


def lost(world: World) -> None:
    of = world.first("nezha")
    if of is None:
        return
    drafter = drafter_of(world, of)
    for beams in BEAMS:
        exact, case = None, {"M": beams}
        for name, options in WAYS.items():
            if options.get("strategy") == "sorted_topk":
                options = {**options, "top_k": 2 * beams}
            found = valid_first(search(world, drafter, beams, **options)[0])
            exact = found if exact is None else exact
            held = sum(np.isin(row[row >= 0], other).sum() for row, other in zip(exact, found))
            world.say("lost_items", case, name, "share lost", 1 - held / (exact >= 0).sum(), "of the exact results")
            short = ((found >= 0).sum(1) < (exact >= 0).sum(1)).mean()
            world.say("lost_items", case, name, "share of queries with fewer results", short)
            world.say("lost_items", case, name, "share R@10", hits(ranks(found, world.targets), AT))
