// What a step is made of: the constraint alone, a given log-sum-exp, types of logits, threads.
// SPDX-License-Identifier: Apache-2.0
#include "decode_case.h"
#include "tables.h"
#include "thread_floors.h"

namespace bench {
namespace {

constexpr int32_t kBeams = 70;

World usual_world(bool quick) {
  return World(draw_catalogue(Skew::kUniform, quick ? 3000 : 1000000, quick ? 4 : 8, quick ? 64 : 2048));
}

std::string name_of_dtype(int32_t dtype) {
  return dtype == SIDBEAM_DTYPE_F32 ? "f32" : dtype == SIDBEAM_DTYPE_F16 ? "f16" : "bf16";
}

}  // namespace

// Level 0 has V children, level 1 as many as 1e6 SIDs leave, level 2 one. Where a row costs nothing, this shows what
// each method must read. STATIC's kernel reads K_l, the most of any node, at every node.
void branching_table(Context& context) {
  const bool quick = context.options.quick;
  for (int32_t bits = 1; bits <= (quick ? 6 : 18); ++bits) {
    const int32_t codes = 1 << bits;
    World world(draw_catalogue(Skew::kUniform, quick ? 2000 : 1000000, 3, codes));
    DecodeCase decode;
    decode.table = "branching";
    decode.methods = {"trie", "static", "static_slots", "none"};
    decode.shape = shape_of(world.catalogue(), 2, quick ? 10 : kBeams);
    decode.given = true;
    decode.more = {{"lse", "given"}};
    run_decode(context, world, decode);
  }
}

void lse_table(Context& context) {
  const bool quick = context.options.quick;
  World world = usual_world(quick);
  for (const Source source : {Source::kHot, Source::kMemory}) {
    if (quick && source == Source::kMemory) continue;
    for (const bool given : {false, true}) {
      DecodeCase decode;
      decode.table = "lse";
      decode.methods = {"trie", "sorted", "none", "static_slots", "mask_scan"};
      decode.shape = shape_of(world.catalogue(), 2, quick ? 10 : kBeams);
      decode.source = source;
      decode.given = given;
      decode.more = {{"lse", given ? "given" : "computed"}};
      run_decode(context, world, decode);
    }
  }
}

void dtype_table(Context& context) {
  const bool quick = context.options.quick;
  World world = usual_world(quick);
  for (const Source source : {Source::kHot, Source::kMemory}) {
    if (quick && source == Source::kMemory) continue;
    for (const int32_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16}) {
      DecodeCase decode;
      decode.table = "dtype";
      decode.methods = {"trie", "none", "lse_only", "mask_torch", "mask_scan"};
      decode.shape = shape_of(world.catalogue(), 2, quick ? 10 : kBeams);
      decode.shape.dtype = dtype;
      decode.source = source;
      decode.more = {{"dtype", name_of_dtype(dtype)}};
      run_decode(context, world, decode);
    }
  }
}

// xGR's selection as its paper has it, by the number of beams, which its heap and its sorting grow with.
void xbeam_table(Context& context) {
  const bool quick = context.options.quick;
  World world = usual_world(quick);
  for (const int32_t beams : {20, 70, 256, 512}) {
    if (quick && beams > 20) continue;
    DecodeCase decode;
    decode.table = "xbeam";
    decode.methods = {"trie", "none", "lse_only", "xbeam", "xbeam_fresh", "unmasked_xbeam", "mask_torch", "mask_scan"};
    decode.shape = shape_of(world.catalogue(), 2, beams);
    decode.thread_time = true;
    run_decode(context, world, decode);
  }
}

// Beside the trie without rules and tries of the allowed items alone, whose beams are the same. With the log-sum-exp
// given, what is left is the search for children.
void rules_table(Context& context) {
  const bool quick = context.options.quick;
  for (const Skew skew : {Skew::kUniform, Skew::kZipf}) {
    World world(draw_catalogue(skew, quick ? 3000 : 1000000, quick ? 4 : 8, quick ? 64 : 2048));
    for (const bool given : {false, true}) {
      DecodeCase decode;
      decode.table = "rules";
      decode.methods = {"trie", "half", "seen", "half_seen", "half_alone", "seen_alone"};
      decode.shape = shape_of(world.catalogue(), 2, quick ? 10 : kBeams);
      decode.given = given;
      decode.thread_time = true;
      decode.more = {{"lse", given ? "given" : "computed"}};
      run_decode(context, world, decode);
    }
  }
}

// Versions of a live catalogue beside an index of the same SIDs.
void live_table(Context& context) {
  const bool quick = context.options.quick;
  for (const Skew skew : {Skew::kUniform, Skew::kZipf}) {
    World world(draw_catalogue(skew, quick ? 3000 : 10000000, quick ? 4 : 8, quick ? 64 : 2048));
    for (const int32_t beams : {50, 512}) {
      if (quick && beams > 50) continue;
      DecodeCase decode;
      decode.table = "live";
      decode.methods = {"trie", "live_1e3", "live_1e5"};
      decode.shape = shape_of(world.catalogue(), 2, quick ? 10 : beams);
      decode.thread_time = true;
      run_decode(context, world, decode);
    }
  }
}

void threads_table(Context& context) {
  const bool quick = context.options.quick;
  World world = usual_world(quick);
  for (const int32_t slots : {1, 2, 8}) {
    DecodeCase decode;
    decode.table = "threads";
    decode.methods = {"trie", "trie_threads2", "none", "none_threads2"};
    decode.shape = shape_of(world.catalogue(), slots, quick ? 10 : kBeams);
    run_decode(context, world, decode);
    if (slots == 2) run_thread_floors(context, world, decode);
  }
}

}  // namespace bench
