// Real catalogues, whole: every SID of every *.index.json under a folder is found by lookup and reached by decode, with
// its items; random tuples that are not SIDs are neither; trie and sorted return the same bits.
//   real_catalogues FOLDER      SIDBEAM_DATA overrides the folder; exit status 77 if there is none
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "library.h"

namespace {

using differential::call;
using differential::expect;
using Sid = std::vector<int32_t>;

constexpr int32_t kCodes = 256, kSlots = 64;
constexpr uint64_t kSeed = 20261121;

// {"item": ["<a_1>", "<b_2>"], ...}: the number of the item, then the numbers in the brackets.
std::map<Sid, std::vector<int64_t>> read_catalogue(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::map<Sid, std::vector<int64_t>> catalogue;
  Sid numbers;
  const std::string all = text.str();
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(all[i])) != 0) {
      numbers.push_back(std::atoi(all.c_str() + i));
      while (std::isdigit(static_cast<unsigned char>(all[i + 1])) != 0) ++i;
    } else if (all[i] == ']') {
      catalogue[Sid(numbers.begin() + 1, numbers.end())].push_back(numbers[0]);
      numbers.clear();
    }
  }
  for (auto& [sid, items] : catalogue) std::sort(items.begin(), items.end());
  return catalogue;
}

struct Subject {
  std::map<Sid, std::vector<int64_t>> catalogue;
  std::vector<Sid> sids;  // in order
  int32_t levels = 0;
  bool compact = false;
  differential::Loaded loaded;
  differential::ConstraintSet set;
};

Subject load(sidbeam_runtime* runtime, const std::filesystem::path& path, int32_t trie) {
  Subject subject;
  subject.catalogue = read_catalogue(path);
  subject.levels = static_cast<int32_t>(subject.catalogue.begin()->first.size());
  std::vector<int32_t> codes;
  std::vector<int64_t> ids;
  for (const auto& [sid, items] : subject.catalogue) {
    subject.sids.push_back(sid);
    for (const int64_t item : items) {
      codes.insert(codes.end(), sid.begin(), sid.end());
      ids.push_back(item);
    }
  }
  const std::vector<int32_t> shape(static_cast<size_t>(subject.levels), kCodes);
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = subject.levels;
  config.codes = shape.data();
  config.kinds = trie | SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH;
  sidbeam_builder* builder = nullptr;
  call("sidbeam_builder_create", sidbeam_builder_create, runtime, &config, &builder);
  call("sidbeam_builder_add", sidbeam_builder_add, builder, codes.data(), nullptr, static_cast<int64_t>(ids.size()),
       ids.data(), nullptr);
  sidbeam_index* index = nullptr;
  call("sidbeam_builder_finish", sidbeam_builder_finish, builder, &index);
  sidbeam_builder_destroy(builder);
  subject.loaded.index.reset(index);
  subject.loaded.constraint = differential::constrain(index);
  subject.set = differential::make_set(runtime, differential::Place(), {subject.loaded.constraint.get()}, nullptr);
  call("sidbeam_index_verify", sidbeam_index_verify, index, int32_t{SIDBEAM_VERIFY_FULL});
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call("sidbeam_index_get_info", sidbeam_index_get_info, index, &info);
  subject.compact = (info.kinds & SIDBEAM_KIND_COMPACT_TRIE) != 0;
  return subject;
}

int64_t find(const Subject& subject, const Sid& sid) {
  int64_t ordinal = -1;
  call("sidbeam_index_find_sid", sidbeam_index_find_sid, subject.loaded.index.get(), sid.data(), subject.levels,
       &ordinal);
  return ordinal;
}

sidbeam_state state_of(const Subject& subject, const Sid& sid) {
  sidbeam_state state = 0;
  call("sidbeam_constraint_set_prefixes", sidbeam_constraint_set_prefixes, subject.set.get(), nullptr, sid.data(),
       int64_t{0}, &subject.levels, int64_t{1}, &state, nullptr);
  return state;
}

void check_lookups(const Subject& subject) {
  for (size_t i = 0; i < subject.sids.size(); ++i) {
    const int64_t ordinal = find(subject, subject.sids[i]);
    expect(ordinal == static_cast<int64_t>(i), differential::text(subject.sids[i]), " has ordinal ", ordinal,
           " and should have ", i);
    expect(state_of(subject, subject.sids[i]) >= 0, differential::text(subject.sids[i]), " has no state");
    int64_t lo = 0, hi = 0;
    call("sidbeam_index_item_rows", sidbeam_index_item_rows, subject.loaded.index.get(), ordinal, &lo, &hi);
    std::vector<int64_t> items;
    for (int64_t item_row = lo; item_row < hi; ++item_row) {
      int64_t id = -1, bytes = 0;
      const char* name = nullptr;
      call("sidbeam_index_item_id", sidbeam_index_item_id, subject.loaded.index.get(), item_row, &id, &name, &bytes);
      items.push_back(id);
    }
    expect(items == subject.catalogue.at(subject.sids[i]), differential::text(subject.sids[i]), " has other items");
  }
}

void check_strangers(const Subject& subject, std::mt19937_64& random) {
  for (int i = 0; i < (SIDBEAM_SANITIZED ? 10000 : 100000); ++i) {
    Sid sid = subject.sids[random() % subject.sids.size()];  // near a SID, where mistakes would be
    const size_t changes = 1 + random() % sid.size();
    for (size_t change = 0; change < changes; ++change)
      sid[random() % sid.size()] = static_cast<int32_t>(random() % kCodes);
    const bool there = subject.catalogue.count(sid) != 0;
    expect((find(subject, sid) >= 0) == there, differential::text(sid),
           " is found and should not be, or the other way round");
    expect((state_of(subject, sid) >= 0) == there, differential::text(sid),
           " has a state and should not have, or the other way round");
  }
}

// Decodes a batch of wanted tuples, one beam each, from logits rows that have 0 at the wanted code and noise below -1
// elsewhere; gives the ordinals.
std::vector<int64_t> decode(const Subject& subject, sidbeam_session* session, const std::vector<Sid>& wanted,
                            uint64_t seed) {
  const auto count = static_cast<int64_t>(wanted.size());
  std::vector<int32_t> slots;
  for (int32_t i = 0; i < count; ++i) slots.push_back(i);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = slots.data();
  start.count = count;
  call("sidbeam_session_start", sidbeam_session_start, session, &start);
  std::mt19937_64 random(seed);
  std::vector<float> logits(wanted.size() * kCodes);
  for (size_t l = 0; l < static_cast<size_t>(subject.levels); ++l) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (size_t c = 0; c < kCodes; ++c)
        logits[i * kCodes + c] = -1.0F - static_cast<float>(random() % 4096) / 1024.0F;
      logits[i * kCodes + static_cast<size_t>(wanted[i][l])] = 0.0F;
    }
    sidbeam_rows rows = SIDBEAM_ROWS_INIT;
    rows.data = logits.data();
    rows.slots = count;
    rows.rows = 1;
    rows.columns = kCodes;
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    step.slots = slots.data();
    step.count = count;
    step.rows = &rows;
    call("sidbeam_session_step", sidbeam_session_step, session, &step);
  }
  std::vector<int64_t> ordinals(wanted.size());
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals.data();
  call("sidbeam_session_get_items", sidbeam_session_get_items, session, slots.data(), count, &items);
  return ordinals;
}

differential::Session make_session(sidbeam_runtime* runtime, const Subject& subject, int32_t strategy) {
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = kSlots;
  config.strategy = strategy;
  config.constraint = subject.loaded.constraint.get();
  sidbeam_session* session = nullptr;
  call("sidbeam_session_create", sidbeam_session_create, runtime, &config, &session);
  return differential::Session(session);
}

// Wanted SIDs come back; for wanted strangers something that exists comes back.
void check_decoding(sidbeam_runtime* runtime, const Subject& subject, std::mt19937_64& random) {
  const differential::Session trie = make_session(runtime, subject, SIDBEAM_STRATEGY_TRIE);
  const differential::Session sorted = make_session(runtime, subject, SIDBEAM_STRATEGY_SORTED);
  constexpr size_t kStep = (SIDBEAM_SANITIZED ? 8 : 1) * kSlots / 2;
  for (size_t first = 0; first < subject.sids.size(); first += kStep) {
    const size_t last = std::min(first + kSlots / 2, subject.sids.size());
    std::vector<Sid> wanted(subject.sids.begin() + static_cast<std::ptrdiff_t>(first),
                            subject.sids.begin() + static_cast<std::ptrdiff_t>(last));
    while (wanted.size() < kSlots) {
      Sid stranger(static_cast<size_t>(subject.levels));
      for (int32_t& code : stranger) code = static_cast<int32_t>(random() % kCodes);
      wanted.push_back(stranger);
    }
    const uint64_t seed = random();
    const std::vector<int64_t> ordinals = decode(subject, trie.get(), wanted, seed);
    expect(ordinals == decode(subject, sorted.get(), wanted, seed), "trie and sorted returned other ordinals");
    const sidbeam_beams a = differential::beams_of({}, trie.get()), b = differential::beams_of({}, sorted.get());
    for (size_t i = 0; i < wanted.size(); ++i) {
      differential::expect_same(differential::snapshot(a, i), differential::snapshot(b, i), false, "trie and sorted");
      expect(ordinals[i] >= 0, "decode returned a SID that does not exist");
      if (i < last - first)
        expect(ordinals[i] == static_cast<int64_t>(first + i), differential::text(wanted[i]),
               " was not reached by decode");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* named = std::getenv("SIDBEAM_DATA");
  const std::filesystem::path folder = named != nullptr ? named : argc > 1 ? argv[1] : "";
  int count = 0;
  try {
    std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
    const differential::Runtime runtime = differential::make_runtime(nullptr);
    if (std::filesystem::is_directory(folder)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.path().string().ends_with(".index.json")) continue;
        for (const int32_t trie : {SIDBEAM_KIND_TRIE, SIDBEAM_KIND_COMPACT_TRIE}) {
          std::mt19937_64 random(kSeed);
          const Subject subject = load(runtime.get(), entry.path(), trie);
          check_lookups(subject);
          check_strangers(subject, random);
          check_decoding(runtime.get(), subject, random);
          std::printf("%s, %s: %zu SIDs found, reached and told from strangers\n", entry.path().filename().c_str(),
                      subject.compact ? "compact" : "by rows", subject.sids.size());
        }
        ++count;
      }
    }
  } catch (const std::exception& exception) {
    std::printf("FAILED: %s\n", exception.what());
    return 1;
  }
  if (count == 0) std::printf("skipped: no *.index.json under '%s' (set SIDBEAM_DATA)\n", folder.c_str());
  return count == 0 ? 77 : 0;
}
