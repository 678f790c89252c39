// STATIC's tables: every method, by the size of the catalogue, by the number of codes, on clustered catalogues.
// SPDX-License-Identifier: Apache-2.0
#include "decode_case.h"
#include "tables.h"

namespace bench {
namespace {

constexpr int32_t kSlots = 2, kBeams = 70, kCodes = 2048, kLevels = 8;  // of STATIC's evaluation

// The library's strategies first, then the fast alternatives, then those that probe every code.
const std::vector<std::string> kFast = {"trie",          "trie_lse", "trie_compact", "sorted",         "sorted_top50",
                                        "hash_final",    "none",     "lse_only",     "static",         "static_slots",
                                        "mask_torch",    "mask_nth", "mask_scan",    "unmasked_torch", "unmasked_nth",
                                        "unmasked_scan", "ppv_top50"};
const std::vector<std::string> kSlow = {"pointer_trie", "hash_bitmap", "hash_set", "ppv_exact"};

std::vector<std::string> all_methods() {
  std::vector<std::string> all = kFast;
  all.insert(all.end(), kSlow.begin(), kSlow.end());
  return all;
}

DecodeCase case_of(const char* table, const Catalogue& catalogue, int32_t slots, int32_t beams) {
  DecodeCase decode;
  decode.table = table;
  decode.methods = all_methods();
  decode.shape = shape_of(catalogue, slots, beams);
  return decode;
}

// At 1e8 SIDs not everything fits into memory at once; every part has the log-sum-exp alone, for comparison.
void huge_case(Context& context, World& world, DecodeCase decode) {
  const std::vector<std::string> parts[] = {
      {"trie", "trie_lse", "none", "lse_only", "static", "static_slots", "mask_torch", "mask_nth", "mask_scan",
       "unmasked_torch", "unmasked_nth", "unmasked_scan", "hash_bitmap", "ppv_exact", "ppv_top50"},
      {"trie_compact", "lse_only"},
      {"sorted", "sorted_top50", "hash_final", "lse_only"}};
  int64_t number = 0;
  for (const std::vector<std::string>& part : parts) {
    decode.methods = part;
    decode.more = {{"part", ++number}};
    run_decode(context, world, decode);
    world.forget();
  }
}

void run_size(Context& context, int64_t size) {
  const bool quick = context.options.quick;
  World world(draw_catalogue(Skew::kUniform, size, quick ? 4 : kLevels, quick ? 64 : kCodes));
  DecodeCase decode = case_of("static", world.catalogue(), kSlots, quick ? 10 : kBeams);
  if (size > 50000000) return huge_case(context, world, decode);
  run_decode(context, world, decode);
  if (size != 1000000 && !quick) return;  // where rows come from does not depend on the catalogue
  decode.methods = kFast;
  decode.source = Source::kLevels;
  run_decode(context, world, decode);
  decode.source = Source::kMemory;
  if (!quick) run_decode(context, world, decode);
}

}  // namespace

void static_table(Context& context) {
  std::vector<int64_t> sizes = {100000, 1000000, 10000000};
  if (context.options.quick) sizes = {3000};
  if (context.options.full) sizes.push_back(100000000);
  if (!context.options.sids.empty()) sizes = context.options.sids;
  for (const int64_t size : sizes) run_size(context, size);
}

void vocabulary_table(Context& context) {
  const bool quick = context.options.quick;
  std::vector<int32_t> sizes = {256, 1024, 2048, 8192, 32768};
  if (context.options.full) sizes = {256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  if (quick) sizes = {16, 100};
  for (const int32_t codes : sizes) {
    World world(draw_catalogue(Skew::kUniform, quick ? 2000 : 10000000, quick ? 3 : kLevels, codes));
    run_decode(context, world, case_of("vocabulary", world.catalogue(), kSlots, quick ? 10 : kBeams));
  }
}

void skew_table(Context& context) {
  const bool quick = context.options.quick;
  struct Size {
    int64_t sids;
    int32_t levels, codes;
  };
  std::vector<Size> sizes = {{1000000, 8, 2048}, {10000000, 4, 256}, {10000000, 3, 8192}};
  if (quick) sizes = {{2000, 4, 32}};
  for (const Size& size : sizes) {
    World world(draw_catalogue(Skew::kZipf, size.sids, size.levels, size.codes));
    run_decode(context, world, case_of("skew", world.catalogue(), kSlots, quick ? 10 : kBeams));
  }
  const std::vector<std::string> paths = real_catalogues();
  if (paths.empty()) std::printf("\nskew  real catalogues left out: no data folder\n");
  for (const std::string& path : paths) {
    World world(read_catalogue(path, 256));
    run_decode(context, world, case_of("skew", world.catalogue(), kSlots, quick ? 10 : kBeams));
  }
}

}  // namespace bench
