// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

namespace bench {
namespace {

constexpr Table kTables[] = {
    {"floors", "sum and copy bandwidth of the machine, and the log-sum-exp kernel as a share of them", floors_table},
    {"static", "STATIC's Table 1 and Table 4a: every method, catalogues of 1e5 to 1e7 (--full: 1e8) SIDs",
     static_table},
    {"vocabulary", "STATIC's Table 4b: 256 to 32768 codes per level, 1e7 SIDs", vocabulary_table},
    {"skew", "clustered catalogues: zipf, and the real ones", skew_table},
    {"wide", "256 to 4096 beams, 1 to 32 requests, 8192 and 32768 codes", wide_table},
    {"text", "codes in a slice of a text vocabulary of 176,512 columns", text_table},
    {"nvidia442", "the request of NVIDIA's issue 442: what the constraint costs at beam 256", nvidia442_table},
    {"flashrec", "the best 2M unmasked codes per beam, then the mask: time, and how many exact beams that finds",
     flashrec_table},
    {"branching", "STATIC's Figure 4: the cost of the constraint alone by branching, 2 to 2^18", branching_table},
    {"lse", "steps that are given the log-sum-exp of their rows", lse_table},
    {"dtype", "logits of 32 and 16 bits", dtype_table},
    {"draws", "a draw's step beside a beam step of the same rows, truncation, stochastic beams, random numbers",
     draws_table},
    {"disc", "draws and results per second, by DISC's rounds and beside the baselines of its paper", disc_table},
    {"quality", "divergence from the exact law, and the time of a result", quality_table},
    {"bias", "the laws of plain constrained sampling and of DISC on the paper's examples, by enumeration", bias_table},
    {"titles", "sampling of titles: 128,256 tokens, 1 to 64 of them; 6e4 titles, --full: 6e6", titles_table},
    {"xbeam", "xGR's selection, a min-heap with early termination, by the number of beams", xbeam_table},
    {"rules", "steps under a filter of half of the items, 10,000 excluded ones, and both", rules_table},
    {"live", "steps in a version of a live catalogue, to which SIDs were added, beside a rebuilt index", live_table},
    {"after", "the results of a request under rules, searched for and filtered afterwards", after_table},
    {"threads", "steps on one and two threads, and the floors of two", threads_table},
};

}  // namespace

std::span<const Table> all_tables() { return kTables; }

}  // namespace bench
