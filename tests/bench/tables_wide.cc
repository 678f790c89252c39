// Wide beams, text vocabularies, and the requests of others. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "decode_case.h"
#include "tables.h"

namespace bench {
namespace {

const std::vector<std::string> kMasks = {"trie",     "none",      "lse_only",       "static_slots", "mask_torch",
                                         "mask_nth", "mask_scan", "unmasked_torch", "unmasked_scan"};

struct Width {
  int32_t slots, beams, codes;
};

}  // namespace

void wide_table(Context& context) {
  const bool quick = context.options.quick;
  std::vector<Width> widths = {{1, 256, 8192},  {8, 256, 8192},  {1, 512, 8192},  {8, 512, 8192},
                               {32, 512, 8192}, {1, 1024, 8192}, {8, 1024, 8192}, {1, 4096, 8192},
                               {1, 256, 32768}, {1, 512, 32768}, {4, 512, 32768}, {1, 1024, 32768}};
  if (context.options.full) widths.insert(widths.end(), {{32, 256, 8192}, {1, 4096, 32768}, {32, 1024, 32768}});
  if (quick) widths = {{3, 100, 64}, {1, 300, 64}};
  for (const int32_t codes : {quick ? 64 : 8192, 32768}) {
    if (quick && codes != 64) continue;
    World world(draw_catalogue(Skew::kUniform, quick ? 3000 : 10000000, quick ? 3 : 4, codes));
    for (const Width& width : widths) {
      if (width.codes != codes) continue;
      DecodeCase decode;
      decode.table = "wide";
      decode.methods = kMasks;
      decode.shape = shape_of(world.catalogue(), width.slots, width.beams);
      decode.source = Source::kMemory;
      if (quick) decode.ring_bytes = 50000;  // less than a step's rows
      run_decode(context, world, decode);
    }
  }
}

void text_table(Context& context) {
  const bool quick = context.options.quick;
  const int32_t codes = quick ? 64 : 8192;
  World world(draw_catalogue(Skew::kUniform, quick ? 2000 : 1000000, 3, codes));
  for (const int32_t beams : {50, 512}) {
    for (const int32_t normalization : {SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_LEVEL}) {
      DecodeCase decode;
      decode.table = "text";
      decode.methods = {"trie", "none", "lse_only", "mask_torch", "mask_nth", "mask_scan", "unmasked_scan"};
      decode.shape = shape_of(world.catalogue(), 1, quick ? beams / 5 : beams);
      decode.shape.columns = quick ? 700 : 151936 + 24576;
      decode.shape.offset = quick ? 333 : 151937;
      decode.shape.normalization = normalization;
      decode.source = Source::kMemory;
      if (quick) decode.source = Source::kHot;
      decode.more = {{"columns", decode.shape.columns},
                     {"normalize", normalization == SIDBEAM_NORMALIZE_FULL ? "full" : "level"}};
      run_decode(context, world, decode);
    }
  }
}

void nvidia442_table(Context& context) {
  const bool quick = context.options.quick;
  World world(draw_catalogue(Skew::kUniform, quick ? 3000 : 5000000, 3, quick ? 64 : 1024));
  for (const int32_t slots : {1, 2, 4, 8}) {
    DecodeCase decode;
    decode.table = "nvidia442";
    decode.methods = {"trie", "none", "lse_only", "mask_torch", "unmasked_torch", "mask_scan", "unmasked_scan"};
    decode.shape = shape_of(world.catalogue(), slots, quick ? 20 : 256);
    decode.source = Source::kLevels;
    const std::map<std::string, StepTimes> us = run_decode(context, world, decode);
    for (const char* name : {"trie", "mask_torch", "mask_scan"}) {
      const double cost = (us.at(name).step - us.at(find_method(name).unconstrained).step) * 1e-3;
      context.json.add({"nvidia442", where_of(world, decode), std::string(name) + " cost", "ms", exactly(cost),
                        "median step of the constrained less that of the unconstrained search written the same way"});
      std::printf("%s: the constraint costs %s%s ms per step\n", name, cost < 0 ? "-" : "+",
                  figure(std::fabs(cost)).c_str());
    }
  }
}

void flashrec_table(Context& context) {
  const bool quick = context.options.quick;
  struct Size {
    int32_t beams, levels, codes;
  };
  std::vector<Size> sizes = {{50, 3, 8192}, {512, 3, 8192}, {70, 8, 2048}, {256, 3, 1024}};
  if (quick) sizes = {{10, 3, 64}};
  for (const Size& size : sizes) {
    World world(draw_catalogue(Skew::kUniform, quick ? 3000 : 1000000, size.levels, size.codes));
    DecodeCase decode;
    decode.table = "flashrec";
    decode.methods = {"trie", "flashrec", "none", "unmasked_nth"};
    decode.shape = shape_of(world.catalogue(), 2, size.beams);
    decode.source = Source::kLevels;
    run_decode(context, world, decode);
  }
}

}  // namespace bench
