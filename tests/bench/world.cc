// SPDX-License-Identifier: Apache-2.0
#include "world.h"

namespace bench {

sidbeam_runtime* World::runtime(int32_t step_threads) {
  Runtime& runtime = runtimes_[step_threads];
  if (!runtime) runtime = make_runtime(step_threads);
  return runtime.get();
}

sidbeam_constraint* World::constraint(int32_t kinds) {
  Constraint& constraint = constraints_[kinds];
  if (!constraint) constraint = build_constraint(runtime(), catalogue_, kinds);
  return constraint.get();
}

const StaticTrie& World::static_trie() {
  if (!static_trie_) static_trie_ = std::make_unique<StaticTrie>(catalogue_);
  return *static_trie_;
}

const Validity& World::validity(MakeValidity make) {
  std::unique_ptr<Validity>& validity = validities_[make];
  if (!validity) validity = make(catalogue_);
  return *validity;
}

void World::forget() {
  constraints_.clear();
  validities_.clear();
  static_trie_.reset();
}

}  // namespace bench
