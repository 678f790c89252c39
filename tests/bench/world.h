// A catalogue and every structure that methods are made from, each built when it is first asked for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "baselines/static_trie.h"
#include "baselines/validity.h"
#include "catalogue.h"
#include "library.h"

namespace bench {

// What a search may return: half of the items, drawn; all but 10,000 that a user has seen; both.
enum class Rules { kHalf, kSeen, kBoth };

class World {
 public:
  explicit World(Catalogue catalogue) : catalogue_(std::move(catalogue)) {}

  const Catalogue& catalogue() const { return catalogue_; }
  sidbeam_runtime* runtime(int32_t step_threads = 1);
  sidbeam_index* index(int32_t kinds);
  sidbeam_constraint* constraint(int32_t kinds);
  // Of the trie under rules, and of a trie of the allowed items alone.
  sidbeam_constraint* ruled(Rules rules);
  sidbeam_constraint* allowed_alone(Rules rules);
  // Of a version of a live catalogue, to whose base so many of the SIDs were added.
  sidbeam_constraint* live(int64_t added);
  const StaticTrie& static_trie();
  using MakeValidity = std::unique_ptr<Validity> (*)(const Catalogue&);
  const Validity& validity(MakeValidity make);
  // Frees everything except the catalogue.
  void forget();

 private:
  Catalogue catalogue_;
  std::map<int32_t, Runtime> runtimes_;
  std::map<int32_t, Index> indexes_;
  std::map<int32_t, Constraint> constraints_;
  std::map<Rules, Constraint> ruled_, alone_;
  std::map<int64_t, Constraint> live_;
  std::map<MakeValidity, std::unique_ptr<Validity>> validities_;
  std::unique_ptr<StaticTrie> static_trie_;
};

}  // namespace bench
