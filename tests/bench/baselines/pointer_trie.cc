// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <deque>
#include <unordered_map>
#include <vector>

#include "validity.h"

namespace bench {
namespace {

struct Node {
  std::unordered_map<int32_t, Node*> children;  // of the last level: to nowhere
};

class PointerTrie final : public Validity {
 public:
  explicit PointerTrie(const Catalogue& catalogue) {
    std::vector<Node*> path(static_cast<size_t>(catalogue.levels) + 1, nullptr);
    path[0] = &nodes_.emplace_back();
    for (int64_t i = 0; i < catalogue.sids; ++i) {
      const int32_t* sid = catalogue.sid(i);
      for (int32_t l = 0; l < catalogue.levels; ++l) {
        const auto at = static_cast<size_t>(l);
        const auto [child, fresh] = path[at]->children.try_emplace(sid[l], nullptr);
        if (fresh && l + 1 < catalogue.levels) child->second = &nodes_.emplace_back();
        path[at + 1] = child->second;
      }
    }
  }

  Place root() const override { return std::bit_cast<Place>(&nodes_.front()); }

  void mask(Place place, int32_t, uint8_t* mask) const override {
    for (const auto& [code, child] : std::bit_cast<const Node*>(place)->children) mask[code] = 1;
  }

  std::optional<Place> find(Place place, int32_t, int32_t code) const override {
    const auto& children = std::bit_cast<const Node*>(place)->children;
    const auto child = children.find(code);
    if (child == children.end()) return std::nullopt;
    return std::bit_cast<Place>(child->second);
  }

 private:
  std::deque<Node> nodes_;  // stays where it is
};

}  // namespace

std::unique_ptr<Validity> make_pointer_trie(const Catalogue& catalogue) {
  return std::make_unique<PointerTrie>(catalogue);
}

}  // namespace bench
