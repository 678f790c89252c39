// sidbeam diff: what changed between two indexes, or versions of a live catalogue.
// SPDX-License-Identifier: Apache-2.0
#include "diff.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>

#include "commands.h"
#include "items.h"
#include "sid_walk.h"

namespace cli {
namespace {

struct Options {
  std::string a, b;
  int64_t list = 0;
  bool json = false;
};

// An id, in an order that integers of either type share.
struct Id {
  bool positive = true;
  uint64_t number = 0;
  std::string_view name;

  bool operator<(const Id& other) const {
    return std::tie(positive, number, name) < std::tie(other.positive, other.number, other.name);
  }
};

struct Item {
  Id id;
  int64_t row;
};

class Side {
 public:
  explicit Side(const sidbeam_index* index) : walk(index) {}

  // The items of the SID, by id.
  const std::vector<Item>& items() {
    items_.clear();
    for (const int64_t row : walk.rows()) items_.push_back({id_of(row), row});
    std::sort(items_.begin(), items_.end(), [](const Item& x, const Item& y) { return x.id < y.id; });
    return items_;
  }

  SidWalk walk;
  bool more = true;

 private:
  Id id_of(int64_t row) const {
    int64_t number = 0, bytes = 0;
    const char* name = nullptr;
    call(sidbeam_index_item_id, walk.index(), row, &number, &name, &bytes);
    if (name != nullptr) return {true, 0, {name, static_cast<size_t>(bytes)}};
    return {walk.info().id_type == SIDBEAM_ID_U64 || number >= 0, static_cast<uint64_t>(number), {}};
  }

  std::vector<Item> items_;
};

std::string text_of(const Id& id, int32_t id_type) {
  if (id_type == SIDBEAM_ID_STRING) return std::string(id.name);
  return id.positive ? std::to_string(id.number) : std::to_string(static_cast<int64_t>(id.number));
}

struct Listed {
  std::vector<int32_t> sid;
  std::string item;
  std::string attribute = {}, a = {}, b = {};  // of an item whose values differ, as JSON

  Json json() const {
    Json json{{"sid", sid}, {"item", item}};
    if (attribute.empty()) return json;
    json.add("attribute", attribute);
    json.add("a", Json::raw(a));
    json.add("b", Json::raw(b));
    return json;
  }
  std::string text(const char* sign) const {
    return sign + join(sid) + "  " + item + (attribute.empty() ? "" : "  " + attribute + ": " + a + " -> " + b);
  }
};

// Some of what there is, and the number of all.
struct Found {
  int64_t count = 0;
  std::vector<Listed> listed = {};
};

class Diff {
 public:
  Diff(const Options& o, const sidbeam_index* a, const sidbeam_index* b) : o_(o), a_(a), b_(b), attributes_(a, b) {
    const bool named_a = a_.walk.info().id_type == SIDBEAM_ID_STRING;
    const bool named_b = b_.walk.info().id_type == SIDBEAM_ID_STRING;
    if (named_a != named_b) {
      throw Failure("'" + o.a + "' has ids that are " + (named_a ? "strings" : "integers") + ", '" + o.b + "' " +
                    (named_b ? "strings" : "integers") + ": no item is in both");
    }
  }

  void run() {
    Progress progress;
    a_.more = a_.walk.next();
    b_.more = b_.walk.next();
    for (int64_t sids = 0; a_.more || b_.more; ++sids) {
      const bool a_first = a_.more && (!b_.more || sid_before(a_.walk.sid(), b_.walk.sid()));
      const bool b_first = b_.more && (!a_.more || sid_before(b_.walk.sid(), a_.walk.sid()));
      static const std::vector<Item> kNone;
      compare(b_first ? kNone : a_.items(), a_first ? kNone : b_.items());
      if (!b_first) a_.more = a_.walk.next();
      if (!a_first) b_.more = b_.walk.next();
      if (sids % 4096 == 0)
        progress.show("comparing", a_.walk.done() + b_.walk.done(), a_.walk.info().sids + b_.walk.info().sids);
    }
  }

  Json json() const {
    std::vector<Json> attributes;
    for (const CommonAttribute& each : attributes_.common)
      attributes.push_back({{"name", each.name()}, {"differ", each.differing()}});
    Json json{{"a", o_.a},
              {"b", o_.b},
              {"same", only_a_.count + only_b_.count + changed_.count == 0},
              {"only_a", only_a_.count},
              {"only_b", only_b_.count},
              {"both", both_},
              {"differ", changed_.count},
              {"attributes", attributes},
              {"attributes_only_a", attributes_.only_a},
              {"attributes_only_b", attributes_.only_b},
              {"attributes_of_other_types", attributes_.of_other_types}};
    if (o_.list == 0) return json;
    json.add("items_only_a", list_json(only_a_));
    json.add("items_only_b", list_json(only_b_));
    json.add("values", list_json(values_));
    return json;
  }

  std::string text() const {
    Table table{1,
                {{"only in A", with_commas(only_a_.count)},
                 {"only in B", with_commas(only_b_.count)},
                 {"in both", with_commas(both_)}}};
    if (!attributes_.common.empty()) table.rows.push_back({"in both, with other values", with_commas(changed_.count)});
    for (const CommonAttribute& each : attributes_.common)
      table.rows.push_back({"  of " + each.name(), with_commas(each.differing())});
    Table others{2, {}};
    for (const auto& [what, names] : {std::pair{"attributes only in A", &attributes_.only_a},
                                      {"attributes only in B", &attributes_.only_b},
                                      {"attributes of other types", &attributes_.of_other_types}})
      for (const std::string& name : *names) others.rows.push_back({what, name});
    return table.text() + others.text();
  }

  void print_lists() const {
    for (const auto& [sign, found] : {std::pair{"- ", &only_a_}, {"+ ", &only_b_}, {"~ ", &values_}}) {
      for (const Listed& each : found->listed) print_line(each.text(sign));
      if (const int64_t left = found->count - std::ssize(found->listed); left > 0 && o_.list > 0)
        print_line(std::string(sign) + "... " + with_commas(left) + " more");
    }
  }

 private:
  static std::vector<Json> list_json(const Found& found) {
    std::vector<Json> all;
    for (const Listed& each : found.listed) all.push_back(each.json());
    return all;
  }

  // The items of a SID on both sides, which is that of those that are there.
  void compare(const std::vector<Item>& a, const std::vector<Item>& b) {
    const auto sid = a.empty() ? b_.walk.sid() : a_.walk.sid();
    for (auto x = a.begin(), y = b.begin(); x != a.end() || y != b.end();) {
      if (y == b.end() || (x != a.end() && x->id < y->id)) {
        note(only_a_, sid, (x++)->id, a_);
      } else if (x == a.end() || y->id < x->id) {
        note(only_b_, sid, (y++)->id, b_);
      } else {
        compare(sid, *x++, *y++);
      }
    }
  }

  void compare(std::span<const int32_t> sid, const Item& a, const Item& b) {
    ++both_;
    bool differs = false;
    for (CommonAttribute& attribute : attributes_.common) {
      if (!attribute.differs(a.row, b.row)) continue;
      differs = true;
      if (Listed* const listed = note(values_, sid, a.id, a_)) {
        listed->attribute = attribute.name();
        std::tie(listed->a, listed->b) = attribute.text();
      }
    }
    changed_.count += differs ? 1 : 0;
  }

  // The new entry, where there is room for one.
  Listed* note(Found& found, std::span<const int32_t> sid, const Id& id, const Side& side) const {
    if (found.count++ >= o_.list) return nullptr;
    return &found.listed.emplace_back(Listed{{sid.begin(), sid.end()}, text_of(id, side.walk.info().id_type)});
  }

  const Options& o_;
  Side a_, b_;
  CommonAttributes attributes_;
  Found only_a_, only_b_, changed_, values_;
  int64_t both_ = 0;
};

void run(const Options& o) {
  const Index a = open_index(o.a), b = open_index(o.b);
  Diff diff(o, a.get(), b.get());
  diff.run();
  if (o.json) return print_json(diff.json());
  print(diff.text());
  diff.print_lists();
}

}  // namespace

void add_diff(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("diff", "Tell what changed between two indexes, or versions of a live catalogue");
  command.add_option("a", o->a, "index file (.sidx), FOLDER or FOLDER@VERSION").required().type_name("A");
  command.add_option("b", o->b, "the same").required().type_name("B");
  command.add_option("--list", o->list, "also list so many of each kind: - only in A, + only in B, ~ other values")
      .between(1, std::numeric_limits<int64_t>::max());
  add_json(command, o->json);
  command.footer(
      "Items are (SID, id) pairs. Of those in both, attributes that both have are compared.\n"
      "Examples:\n"
      "  sidbeam diff monday.sidx tuesday.sidx --list 20\n"
      "  sidbeam diff office_live@12 office_live");
  command.callback([o] { run(*o); });
}

}  // namespace cli
