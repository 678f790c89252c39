"""The smallest complete use of sidbeam in Python: samples/minimal.c again. SPDX-License-Identifier: Apache-2.0"""

import numpy as np

import sidbeam

catalogue = [(0, 1), (0, 3), (2, 2)]  # three items, each a SID of two codes
logits = np.array([[3, 9, 2, 1], [1, 1, 4, 2]], np.float32)  # the model's, per level, for every beam

index = sidbeam.Index.build(catalogue, codes=[4, 4])
with sidbeam.Session(index, beams=2) as session:
    beams = session.start()  # per request
    while beams.active[0] > 0:  # per level: run the model on beams.codes, then
        row = logits[beams.level[0]]
        session.step(np.broadcast_to(row, (2, 4)))
    items = session.items()
    for m in range(beams.live[0]):
        print(f"item {items.ordinals[0, m]}  score {beams.scores[0, m]:.3f}")
