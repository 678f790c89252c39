// Makes a catalogue and histories that are the same everywhere.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "dataset.h"

namespace recommend {
namespace {

// A generator that gives the same numbers everywhere, which the distributions of <random> do not.
struct Random {
  uint64_t state;
  uint32_t below(uint32_t limit) {  // splitmix64
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<uint32_t>((z ^ (z >> 31)) % limit);
  }
};

constexpr uint32_t kShelves = 40, kKinds = 12, kCodes = 64, kItems = 3000, kTrainUsers = 3000, kTestUsers = 1200;

// A shelf has its first code to itself, and each of its kinds the first two.
Sid sid_of(uint32_t shelf, uint32_t kind, uint32_t rest) {
  const auto code = [](uint32_t n) { return static_cast<int32_t>(n % kCodes); };
  return {code(shelf), code(shelf * 11 + kind), code(rest)};
}

uint32_t kind_of(const Sid& sid) {
  return (static_cast<uint32_t>(sid[1]) + kCodes - static_cast<uint32_t>(sid[0]) * 11 % kCodes) % kCodes;
}

struct Shelf {
  std::vector<int32_t> items, kinds[kKinds];  // SIDs
};

int32_t popular(const std::vector<int32_t>& sids, Random& random) {
  const auto size = static_cast<uint32_t>(sids.size());
  return sids[std::min(random.below(size), random.below(size))];
}

// Half of the steps go to the shelf's next kind, which shows in the codes, whatever the item; a quarter to one of three
// items that follow this very one; the rest anywhere on the shelf. Sometimes the user moves on to another shelf.
int32_t next_item(const Dataset& data, const std::vector<Shelf>& shelves, uint32_t& shelf, int32_t now,
                  Random& random) {
  if (random.below(8) == 0) shelf = random.below(kShelves);
  const Shelf& here = shelves[shelf];
  const uint32_t kind = (kind_of(data.sids[static_cast<size_t>(now)]) + 1) % kKinds;
  const uint32_t choice = random.below(4);
  if (choice < 2 && !here.kinds[kind].empty()) return popular(here.kinds[kind], random);
  if (choice == 2) return here.items[(static_cast<size_t>(now) * 7 + random.below(3)) % here.items.size()];
  return popular(here.items, random);
}

std::vector<Query> make_queries(const Dataset& data, const std::vector<Shelf>& shelves, const char* kind,
                                uint32_t users, Random random) {
  std::vector<Query> queries;
  for (uint32_t user = 0; user < users; user++) {
    uint32_t shelf = random.below(kShelves);
    Query query{kind + std::to_string(user), {}, popular(shelves[shelf].items, random)};
    for (uint32_t left = 2 + random.below(8); left > 0; left--) {
      query.history.push_back(query.target);
      query.target = next_item(data, shelves, shelf, query.target, random);
    }
    queries.push_back(std::move(query));
  }
  return queries;
}

}  // namespace

Dataset make_dataset() {
  Dataset data;
  data.name = "made up";
  Random random{1};
  for (uint32_t i = 0; i < kItems; i++) {
    const uint32_t shelf = random.below(kShelves), kind = random.below(kKinds);
    data.items.push_back(
        {sid_of(shelf, kind, random.below(kCodes)), i,
         "item " + std::to_string(i) + ", kind " + std::to_string(kind) + " of shelf " + std::to_string(shelf)});
  }
  number_sids(data);
  data.codes.assign(data.codes.size(), kCodes);  // a model has a column for every code, used or not
  std::vector<Shelf> shelves(kShelves);
  for (size_t i = 0; i < data.sids.size(); i++) {
    Shelf& shelf = shelves[static_cast<size_t>(data.sids[i][0])];
    shelf.items.push_back(static_cast<int32_t>(i));
    shelf.kinds[kind_of(data.sids[i])].push_back(static_cast<int32_t>(i));
  }
  data.train = make_queries(data, shelves, "train", kTrainUsers, {2});
  data.test = make_queries(data, shelves, "test", kTestUsers, {3});
  return data;
}

}  // namespace recommend
