# What the Python README's block takes for granted. SPDX-License-Identifier: Apache-2.0
import sys

import numpy as np
import sidbeam

index = sidbeam.Index.open(sys.argv[1])
drafted = []


def target_model(tree):
    return np.zeros((len(tree.tokens), 256), np.float32)


def draft_model(tree):
    drafted.append(len(tree.tokens))
    return target_model(tree)


THE_BLOCK
plain = sidbeam.Session(index, beams=10)
beams = plain.start()
while beams.active[0] > 0:
    plain.step(np.zeros((1, 10, 256), np.float32))
assert drafted and items.ordinals.tolist() == plain.items().ordinals.tolist()
