// SPDX-License-Identifier: Apache-2.0
#include "live.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace differential {
namespace {

constexpr int64_t kFirstGhost = 1000000;  // the id of the first item that is there for a while only

struct Drawer {
  const Case& c;
  const std::vector<int>& codes;
  const std::vector<oracle::Pair>& pairs;
  uint64_t which;

  template <typename... Rest>
  uint64_t draw(Rest... what) const {
    return mix(static_cast<uint64_t>(c.seed), kDrawLive, which, what...);
  }

  // Of a SID that is there, or of any.
  oracle::Pair ghost(uint64_t i) const {
    oracle::Pair pair{pairs[draw(1, i) % pairs.size()].sid, kFirstGhost + static_cast<int64_t>(i), 0};
    if (draw(2, i) % 2 == 0) {
      const size_t length = c.variable != 0 ? 1 + draw(3, i) % codes.size() : codes.size();
      pair.sid.clear();
      for (size_t l = 0; l < length; ++l)
        pair.sid.push_back(static_cast<int>(draw(4, i, l) % static_cast<uint64_t>(codes[l])));
    }
    if (c.priorities != 0) pair.priority = static_cast<int64_t>(draw(5, i) % 3) - 1;
    return pair;
  }
};

// The turns at which an item comes and goes by turns, the first of which is that of the base, -1.
std::vector<int> events_of(uint64_t hash, int turns, bool stays) {
  std::vector<int> events{hash % 2 == 0 ? -1 : static_cast<int>(hash / 2 % static_cast<uint64_t>(turns))};
  for (uint64_t more = hash / 64 % 3; more > 0 && events.back() + 1 < turns; --more) {
    events.push_back(events.back() + 1);
    if (hash / 256 % 2 == 0 && events.back() + 1 < turns) ++events.back();
  }
  if ((events.size() % 2 == 1) != stays) events.pop_back();
  return events;
}

void append(std::vector<oracle::Pair>& to, const std::vector<oracle::Pair>& pairs) {
  to.insert(to.end(), pairs.begin(), pairs.end());
}

void tell(Story& story, const std::vector<int>& events, const std::vector<oracle::Pair>& pairs) {
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i] < 0) {
      append(story.base, pairs);
    } else if (Turn& turn = story.turns[static_cast<size_t>(events[i])]; i % 2 == 0) {
      append(turn.added, pairs);
    } else {
      turn.removed.push_back(pairs[0].id);
    }
  }
}

// An item that comes with other priorities than it has in the end.
void tell_update(Story& story, int turn, const std::vector<oracle::Pair>& pairs) {
  std::vector<oracle::Pair> others = pairs;
  for (oracle::Pair& pair : others) pair.priority += 2;
  append(story.base, others);
  append(story.turns[static_cast<size_t>(turn)].added, pairs);
}

// The rows and SIDs of a catalogue as its library numbers them.
class Numbers {
 public:
  Numbers(const std::vector<int>& codes, bool variable) : codes_(codes), variable_(variable) {}

  // All of an index that a builder makes.
  void build(const std::vector<oracle::Pair>& pairs) {
    const oracle::Catalogue base = oracle::make_catalogue(codes_, variable_, pairs);
    std::map<std::pair<oracle::Sid, int64_t>, int64_t> priorities;
    for (const oracle::Pair& pair : pairs) priorities[{pair.sid, pair.id}] = pair.priority;
    ordinals_.clear();
    rows_.clear();
    by_pair_.clear();
    for (size_t i = 0; i < base.sids.size(); ++i)
      for (const int64_t id : base.items[i]) add({base.sids[i], id, priorities[{base.sids[i], id}]});
    of_base_ = rows_.size();
  }

  void take(const Turn& turn) {
    for (Row& row : rows_)
      if (std::find(turn.removed.begin(), turn.removed.end(), row.pair.id) != turn.removed.end()) row.live = false;
    for (const oracle::Pair& pair : turn.added) add(pair);
  }

  std::vector<bool> live() const {
    std::vector<bool> live;
    for (const Row& row : rows_) live.push_back(row.live);
    return live;
  }
  void set_live(const std::vector<bool>& live) {
    for (size_t row = 0; row < rows_.size(); ++row) rows_[row].live = row < live.size() && live[row];
  }

  std::vector<oracle::Pair> live_pairs() const {
    std::vector<oracle::Pair> pairs;
    for (const Row& row : rows_)
      if (row.live) pairs.push_back(row.pair);
    return pairs;
  }

  // Of a SID the rows of the base, then those that were added, by priority falling and id rising.
  Numbered numbered() const {
    Numbered result;
    result.catalogue = oracle::make_catalogue(codes_, variable_, live_pairs());
    for (std::vector<int64_t>& items : result.catalogue.items) items.clear();
    std::vector<std::vector<size_t>> rows(result.catalogue.sids.size());
    std::map<oracle::Sid, size_t> places;
    for (const oracle::Sid& sid : result.catalogue.sids) places.emplace(sid, places.size());
    for (size_t row = 0; row < rows_.size(); ++row) {
      result.all.push_back({rows_[row].pair.id, rows_[row].live});
      if (rows_[row].live) rows[places.at(rows_[row].pair.sid)].push_back(row);
    }
    const auto place = [&](size_t row) {
      const oracle::Pair& pair = rows_[row].pair;
      return row < of_base_ ? std::tuple{0, static_cast<int64_t>(row), int64_t{0}}
                            : std::tuple{1, -pair.priority, pair.id};
    };
    for (size_t i = 0; i < rows.size(); ++i) {
      std::sort(rows[i].begin(), rows[i].end(), [&](size_t a, size_t b) { return place(a) < place(b); });
      result.ordinals.push_back(ordinals_.at(result.catalogue.sids[i]));
      for (const size_t row : rows[i]) {
        result.catalogue.items[i].push_back(rows_[row].pair.id);
        result.rows.push_back(static_cast<int64_t>(row));
      }
    }
    return result;
  }

 private:
  struct Row {
    oracle::Pair pair;
    bool live;
  };

  // A pair that was there before, with the same values, is there again; one that is there with others gets a new row.
  void add(const oracle::Pair& pair) {
    ordinals_.emplace(pair.sid, static_cast<int64_t>(ordinals_.size()));
    std::vector<size_t>& known = by_pair_[{pair.sid, pair.id}];
    const auto is_live = [&](size_t row) { return rows_[row].live; };
    const auto is_same = [&](size_t row) { return rows_[row].pair.priority == pair.priority; };
    const auto live = std::find_if(known.begin(), known.end(), is_live);
    if (live != known.end() && is_same(*live)) return;
    if (live != known.end()) {
      rows_[*live].live = false;
    } else if (const auto again = std::find_if(known.rbegin(), known.rend(), is_same); again != known.rend()) {
      rows_[*again].live = true;
      return;
    }
    known.push_back(rows_.size());
    rows_.push_back({pair, true});
  }

  std::vector<int> codes_;
  bool variable_;
  size_t of_base_ = 0;
  std::map<oracle::Sid, int64_t> ordinals_;
  std::map<std::pair<oracle::Sid, int64_t>, std::vector<size_t>> by_pair_;  // rows, rising
  std::vector<Row> rows_;
};

}  // namespace

Story draw_story(const Case& c, const std::vector<int>& codes, const std::vector<oracle::Pair>& pairs, uint64_t which) {
  const Drawer drawer{c, codes, pairs, which};
  const int turns = static_cast<int>(1 + drawer.draw(10) % 4);
  Story story;
  story.turns.resize(static_cast<size_t>(turns));
  std::map<int64_t, std::vector<oracle::Pair>> by_id;
  for (const oracle::Pair& pair : pairs) by_id[pair.id].push_back(pair);
  for (const auto& [id, of_it] : by_id) {
    const uint64_t hash = drawer.draw(11, id);
    if (c.priorities != 0 && hash % 5 == 0)
      tell_update(story, static_cast<int>(hash / 8 % static_cast<uint64_t>(turns)), of_it);
    else
      tell(story, events_of(hash, turns, true), of_it);
  }
  const uint64_t ghosts = drawer.draw(12) % (pairs.size() + 2);
  for (uint64_t i = 0; i < ghosts; ++i) {
    // Of the base where that would have nothing.
    const uint64_t hash = story.base.empty() ? 64 : drawer.draw(13, i);
    tell(story, events_of(hash, turns, false), {drawer.ghost(i)});
  }
  if (story.base.empty()) tell(story, {-1, 0}, {drawer.ghost(ghosts)});
  for (size_t i = 0; i < story.turns.size(); ++i) {
    story.turns[i].compacted = drawer.draw(14, i) % 5 == 0;
    story.turns[i].compacted_in_vain = drawer.draw(14, i) % 5 == 1;
  }
  if (drawer.draw(15) % 3 == 0) return story;
  Turn last;
  last.taken_back = drawer.draw(15) % 3 == 1;
  last.dropped = !last.taken_back;
  for (uint64_t i = 0; i < drawer.draw(16) % 4; ++i) last.added.push_back(drawer.ghost(ghosts + 1 + i));
  for (const auto& entry : by_id)
    if (drawer.draw(17, entry.first) % 3 == 0) last.removed.push_back(entry.first);
  story.turns.push_back(last);
  return story;
}

Numbered numbered_by(const Story& story, const std::vector<int>& codes, bool variable) {
  Numbers numbers(codes, variable);
  numbers.build(story.base);
  for (const Turn& turn : story.turns) {
    if (turn.dropped) continue;
    const std::vector<bool> before = numbers.live();
    numbers.take(turn);
    if (turn.taken_back) numbers.set_live(before);
    if (const std::vector<oracle::Pair> pairs = numbers.live_pairs(); turn.compacted && !pairs.empty())
      numbers.build(pairs);
  }
  return numbers.numbered();
}

}  // namespace differential
