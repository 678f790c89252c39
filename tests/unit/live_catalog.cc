// Histories of a live catalogue, against a model of what its items are: additions, removals, versions and the way back.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "index/live/publication.h"
#include "index_attribute_columns.h"
#include "live/catalog.h"
#include "live_filters.h"
#include "live_pairs.h"
#include "live_search.h"
#include "random_seed.h"

namespace sidbeam::testing {
namespace {

constexpr int kHistories = SIDBEAM_SANITIZED ? 15 : 40, kOperations = 25;

const std::vector<TestColumn> kColumns = {{"new", SIDBEAM_ATTRIBUTE_BOOL, {}},
                                          {"price", SIDBEAM_ATTRIBUTE_I64, {}},
                                          {"region", SIDBEAM_ATTRIBUTE_STRING, {}},
                                          {"score", SIDBEAM_ATTRIBUTE_F32, {}},
                                          {"tags", SIDBEAM_ATTRIBUTE_STRING_LIST, {}}};

Value random_value(int32_t type, Random& random) {
  if (random() % 4 == 0) return {};
  const std::string letter(1, static_cast<char>('a' + random() % 5));
  switch (type) {
    case SIDBEAM_ATTRIBUTE_BOOL:
      return random() % 2 == 0;
    case SIDBEAM_ATTRIBUTE_I64:
      return static_cast<int64_t>(random() % 6);
    case SIDBEAM_ATTRIBUTE_F32:
      return static_cast<float>(random() % 6) / 2.0F;
    case SIDBEAM_ATTRIBUTE_STRING:
      return letter;
    default:
      return std::vector<std::string>(random() % 2 + 1, letter).size() == 1
                 ? std::vector<std::string>{letter}
                 : std::vector<std::string>{letter, letter + "2"};
  }
}

// What a catalogue holds: pairs, and their values by column.
struct Model {
  struct Item {
    Pair pair;
    std::vector<Value> values;
  };
  using Key = std::pair<std::vector<int32_t>, std::string>;
  std::map<Key, Item> items;

  static Key key(const Pair& pair) { return {pair.sid, pair.name + "/" + std::to_string(pair.id)}; }
  bool has(const Pair& of) const {
    return std::any_of(items.begin(), items.end(), [&](const auto& entry) {
      return entry.second.pair.id == of.id && entry.second.pair.name == of.name;
    });
  }
  void remove(const Pair& of) {
    std::erase_if(
        items, [&](const auto& entry) { return entry.second.pair.id == of.id && entry.second.pair.name == of.name; });
  }
};

// A shape, and what is drawn in it.
struct Shape {
  TestCatalogue catalogue;  // without pairs

  explicit Shape(Random& random) {
    const auto levels = static_cast<size_t>(1 + random() % 4);
    const bool narrow = random() % 2 == 0;
    for (size_t l = 0; l < levels; ++l)
      catalogue.codes.push_back(static_cast<int32_t>(narrow ? 1 + random() % 4 : 1 + random() % 200));
    catalogue.variable_length = random() % 2 == 0;
    catalogue.id_type = random() % 2 == 0 ? SIDBEAM_ID_STRING : SIDBEAM_ID_I64;
    catalogue.kinds = random() % 2 == 0 ? SIDBEAM_KIND_TRIE : SIDBEAM_KIND_COMPACT_TRIE;
    catalogue.with_priorities = catalogue.keep_priorities = random() % 2 == 0;
  }
  bool named() const { return catalogue.id_type == SIDBEAM_ID_STRING; }
  Pair pair(Random& random) const {
    Pair out;
    const size_t length = catalogue.variable_length ? 1 + random() % catalogue.codes.size() : catalogue.codes.size();
    for (size_t l = 0; l < length; ++l)
      out.sid.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(catalogue.codes[l])));
    const auto id = static_cast<int64_t>(random() % 150);
    if (named()) {
      out.name = "n" + std::to_string(id);
    } else {
      out.id = id;
    }
    if (catalogue.with_priorities) out.priority = static_cast<int64_t>(random() % 5) - 2;
    return out;
  }
};

Ref<sidbeam_index> index_of(sidbeam_runtime* runtime, const Shape& shape, const Model& model) {
  TestCatalogue catalogue = shape.catalogue;
  std::vector<TestColumn> columns = kColumns;
  for (const auto& [key, item] : model.items) {
    catalogue.pairs.push_back(item.pair);
    for (size_t c = 0; c < columns.size(); ++c) columns[c].values.push_back(item.values[c]);
  }
  auto index = std::make_unique<sidbeam_index>();
  index->runtime = Ref<sidbeam_runtime>::share(runtime);
  index->index = build(catalogue, columns);
  return Ref<sidbeam_index>::adopt(index.release());
}

std::string random_text(Random& random) {
  const std::vector<std::string> texts = {"price<3",
                                          "region in (a, b)",
                                          "not new",
                                          "score between 1 and 2",
                                          "tags contains c",
                                          "price is null or region=\"c\"",
                                          "not price=1 and new"};
  return texts[random() % texts.size()];
}

class History {
 public:
  History(sidbeam_runtime* runtime, Random& random) : runtime_(runtime), random_(random), shape_(random) {
    const uint64_t count = 1 + random() % 250;
    for (uint64_t i = 0; i < count; ++i) {
      Model::Item item{shape_.pair(random), {}};
      for (const TestColumn& column : kColumns) item.values.push_back(random_value(column.type, random));
      model_.items[Model::key(item.pair)] = item;
    }
    settings_.keep.versions = 3;
    settings_.sync.when = SIDBEAM_SYNC_HOST;
    adds_ = random() % 3 != 0;
    if (random() % 4 != 0) folder_ = ::testing::TempDir() + "live_catalog_" + std::to_string(::getpid());
    remove_folder();  // of a process that had this number and was killed
    const char* folder = folder_.empty() ? nullptr : folder_.c_str();
    catalog_ = LiveCatalog::create(index_of(runtime, shape_, model_), folder, settings_);
    if (folder != nullptr) follower_ = LiveCatalog::follow(Ref<sidbeam_runtime>::share(runtime), folder, settings_);
    versions_.push_back({1, model_, catalog_->find(0)});
  }
  ~History() { remove_folder(); }

  void run() {
    for (int i = 0; i < kOperations && !::testing::Test::HasFailure(); ++i) {
      const uint64_t operation = random_() % 13;
      if (operation < 4) adds_ ? add() : remove();
      if (operation == 4 || operation == 5) remove();
      if (operation >= 6 && operation < 9) publish();
      if (operation == 9) go_back();
      if (operation == 10) discard();
      if (operation == 11 && !folder_.empty()) reopen();
      if (operation == 12) compact();
    }
    for (const Kept& each : versions_) compare(each.index.get(), each.model);  // whatever was published since
  }

 private:
  struct Kept {
    int64_t number;
    Model model;
    Ref<sidbeam_index> index;
  };

  void remove_folder() const {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // New pairs, or those that are or were there, with the values of some columns.
  void add() {
    const uint64_t count = 1 + random_() % 30;
    std::vector<Pair> pairs;
    for (uint64_t i = 0; i < count; ++i) {
      pairs.push_back(shape_.pair(random_));
      if (seen_.empty() || random_() % 3 != 0) {
        seen_.push_back(pairs.back());
      } else {
        pairs.back() = seen_[random_() % seen_.size()];
      }
    }
    std::vector<TestColumn> columns;
    std::vector<size_t> given;
    for (size_t c = 0; c < kColumns.size(); ++c) {
      if (random_() % 2 == 0) continue;
      columns.push_back(kColumns[c]);
      given.push_back(c);
      for (uint64_t i = 0; i < count; ++i) columns.back().values.push_back(random_value(kColumns[c].type, random_));
    }
    const bool with_priorities = shape_.catalogue.with_priorities && random_() % 2 == 0;
    add_to_store(pairs, columns, with_priorities);
    for (size_t i = 0; i < count; ++i) {
      Model::Item& item = model_.items[Model::key(pairs[i])];
      const int64_t before = item.pair.priority;
      item.pair = pairs[i];
      if (!with_priorities) item.pair.priority = before;
      item.values.resize(kColumns.size());
      for (size_t g = 0; g < given.size(); ++g) item.values[given[g]] = columns[g].values[i];
    }
  }

  void add_to_store(const std::vector<Pair>& pairs, const std::vector<TestColumn>& columns, bool with_priorities) {
    std::vector<int32_t> codes, lengths;
    std::vector<int64_t> ids, priorities, offsets = {0};
    std::string names;
    for (const Pair& pair : pairs) {
      codes.insert(codes.end(), pair.sid.begin(), pair.sid.end());
      codes.resize((lengths.size() + 1) * shape_.catalogue.codes.size(), -1);
      lengths.push_back(static_cast<int32_t>(pair.sid.size()));
      ids.push_back(pair.id);
      priorities.push_back(pair.priority);
      names += pair.name;
      offsets.push_back(std::ssize(names));
    }
    Catalogue::Pairs out;
    out.codes = codes.data();
    out.lengths = lengths.data();
    out.count = std::ssize(pairs);
    if (with_priorities) out.priorities = priorities.data();
    if (shape_.named()) {
      out.id_bytes = names.data();
      out.id_offsets = offsets.data();
    } else {
      out.ids = ids.data();
    }
    std::vector<std::unique_ptr<Column>> values;
    std::vector<const sidbeam_attribute_column*> attributes;
    for (const TestColumn& column : columns) {
      values.push_back(std::make_unique<Column>(column, 0, pairs.size(), random_() % 2 == 0, random_() % 2 == 0));
      attributes.push_back(&values.back()->out);
    }
    catalog_->add(out, attributes);
  }

  void remove() {
    std::vector<Pair> pairs;
    int64_t unknown = 0;
    for (uint64_t i = random_() % 20 + 1; i > 0; --i) pairs.push_back(shape_.pair(random_));
    if (random_() % 3 == 0) pairs.push_back(pairs.front());  // comes twice, and is known or not both times
    for (const Pair& pair : pairs) unknown += model_.has(pair) ? 0 : 1;
    for (const Pair& pair : pairs) model_.remove(pair);
    const IdList list(versions_.front().index->index.view, pairs);
    ASSERT_EQ(catalog_->remove(*list.get()), unknown);
  }

  void publish() {
    const bool changes = catalog_->info().changes > 0;
    const int64_t version = catalog_->publish();
    ASSERT_EQ(version, versions_.back().number + (changes ? 1 : 0));
    if (!changes) return;
    versions_.push_back({version, model_, catalog_->find(version)});
    expect_numbers_stay(*versions_[versions_.size() - 2].index, *versions_.back().index);
    compare(versions_.back().index.get(), model_);
    expect_followed();
  }

  // A version of the same content, whose base is what a builder makes of it; what was not published stays so.
  void compact() {
    const Model& published = versions_.back().model;
    const sidbeam_compact_config config = SIDBEAM_COMPACT_CONFIG_INIT;
    if (published.items.empty()) {
      EXPECT_THROW(catalog_->compact(config), Failure);
      return;
    }
    const int64_t generation = catalog_->info().generation;
    const int64_t version = catalog_->compact(config);
    ASSERT_EQ(version, versions_.back().number + 1);
    ASSERT_EQ(catalog_->info().generation, ++generations_);
    ASSERT_LT(generation, generations_);
    versions_.push_back({version, published, catalog_->find(version)});
    const sidbeam_index& base = versions_.back().index->base();
    const Ref<sidbeam_index> whole = index_of(runtime_, shape_, versions_.back().model);
    if (base.index.header.info.kinds == whole->index.header.info.kinds) {
      ASSERT_EQ(base.index.bytes.size(), whole->index.bytes.size());
      ASSERT_EQ(
          std::memcmp(base.index.bytes.data(), whole->index.bytes.data(), static_cast<size_t>(base.index.bytes.size())),
          0);
    }
    compare(versions_.back().index.get(), versions_.back().model);
    expect_followed();
  }

  void discard() {
    catalog_->discard();
    model_ = versions_.back().model;
    ASSERT_EQ(catalog_->info().changes, 0);
  }

  // Opened again, the catalogue is as of the last publish, and can go back as far as before.
  void reopen() {
    catalog_.reset();
    catalog_ = LiveCatalog::open(Ref<sidbeam_runtime>::share(runtime_), folder_.c_str(), settings_);
    model_ = versions_.back().model;
    for (auto each = versions_.rbegin(); each != versions_.rend() && each - versions_.rbegin() < 3; ++each) {
      const Ref<sidbeam_index> index = catalog_->find(each->number);
      expect_same(*each->index, *index);
      compare(index.get(), each->model);
    }
  }

  void expect_followed() {
    if (folder_.empty() || random_() % 3 == 0) return;
    ASSERT_EQ(follower_->refresh(0), versions_.back().number);
    expect_same(*versions_.back().index, *follower_->find(0));
    if (random_() % 4 == 0) damage();
  }

  // The same items, of which those that the first index has have the same numbers.
  void expect_same(sidbeam_index& first, sidbeam_index& second) {
    ASSERT_EQ(first.version->generation, second.version->generation);
    ASSERT_EQ(first.version->number, second.version->number);
    expect_numbers_stay(first, second);
    ASSERT_EQ(first.version->live_items, second.version->live_items);
    for (uint64_t row = 0; row < row_count(first.index.view); ++row)
      ASSERT_EQ(first.live_rows() == nullptr || has_bit(first.live_rows(), row),
                second.live_rows() == nullptr || has_bit(second.live_rows(), row));
  }

  void expect_numbers_stay(const sidbeam_index& first, const sidbeam_index& second) {
    const IndexView &before = first.index.view, &after = second.index.view;
    if (first.version->generation != second.version->generation) return;
    const auto sid_at = [&](const IndexView& index, uint64_t ordinal) {
      std::vector<int32_t> sid(static_cast<size_t>(index.levels));
      sid.resize(static_cast<size_t>(sid_of(index, ordinal, sid.data())));
      return sid;
    };
    ASSERT_LE(row_count(before), row_count(after));
    for (uint64_t row = 0; row < row_count(before); ++row) {
      ASSERT_EQ(id_text(before, row), id_text(after, row));
      ASSERT_EQ(item_ordinal(before, row), item_ordinal(after, row));
    }
    ASSERT_LE(sid_count(before), sid_count(after));
    for (uint64_t i = 0; i < sid_count(before); ++i) ASSERT_EQ(sid_at(before, i), sid_at(after, i));
  }

  void go_back() {
    const Kept& to = versions_[random_() % versions_.size()];
    if (to.number + 3 <= versions_.back().number) {
      EXPECT_THROW(catalog_->go_back(to.number), Failure);
      return;
    }
    model_ = to.model;
    const int64_t version = catalog_->go_back(to.number);
    ASSERT_EQ(version, versions_.back().number + 1);
    ASSERT_EQ(catalog_->version_info(version).back_to, to.number);
    versions_.push_back({version, model_, catalog_->find(0)});
    compare(versions_.back().index.get(), model_);
    expect_followed();
  }

  // Of a log that there is.
  std::string log_path() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().extension() == ".slog") return entry.path().string();
    return {};
  }

  // A damaged record, should its checksum match, is refused or does no harm.
  void damage() {
    const CpuTarget target = best_cpu_target();
    LogReader log(target, log_path());
    const LogContents contents = log.read();
    const LogRecord& record = contents.records[random_() % contents.records.size()];
    std::vector<uint8_t> payload(record.payload.begin(), record.payload.end());
    const sidbeam_index& base = versions_.front().index->base();
    for (int i = 0; i < 50; ++i) {
      PairStore store({base.index, [&]() -> const IdTable& { return base.find_id_table(); },
                       [&]() -> const RepeatsView& { return base.find_repeats(); }},
                      1, default_allocator());
      payload[random_() % payload.size()] ^= static_cast<uint8_t>(1U << random_() % 8);
      try {
        apply_publication(payload, base.index.view, store);
      } catch (const Failure& failure) {
        EXPECT_TRUE(failure.status == SIDBEAM_CORRUPT || failure.status == SIDBEAM_INVALID_ARGUMENT) << failure.message;
      }
    }
  }

  // Two searches of a version and of an index of its items.
  void compare(sidbeam_index* version, const Model& model) {
    filters_.carry(*version, random_text(random_));
    if (model.items.empty()) {
      const Outcome nothing = Search(runtime_, version, Request()).run(1);
      ASSERT_EQ(nothing.allowed_items, 0);
      ASSERT_TRUE(nothing.live.empty());
      return;
    }
    const Ref<sidbeam_index> plain = index_of(runtime_, shape_, model);
    std::vector<Pair> pairs;
    for (const auto& [key, item] : model.items) pairs.push_back(item.pair);
    for (int i = 0; i < 2; ++i) {
      Request request = random_request(pairs, random_);
      if (request.filters && random_() % 2 == 0) request.text = random_text(random_);
      const uint64_t seed = random_();
      const Outcome expected = Search(runtime_, plain.get(), request).run(seed);
      const Outcome found = Search(runtime_, version, request).run(seed);
      ASSERT_EQ(found.live, expected.live) << request.text;
      ASSERT_EQ(found.codes, expected.codes);
      ASSERT_EQ(found.scores, expected.scores);
      ASSERT_EQ(found.items, expected.items);
      ASSERT_TRUE(found.ordinals_agree);
      ASSERT_EQ(found.allowed_sids, expected.allowed_sids);
      ASSERT_EQ(found.allowed_items, expected.allowed_items);
    }
  }

  sidbeam_runtime* runtime_;
  Random& random_;
  Shape shape_;
  Model model_;
  std::vector<Pair> seen_;
  CatalogSettings settings_;
  std::string folder_;  // empty: in memory
  int64_t generations_ = 1;
  bool adds_ = true;  // else items only go, so that versions differ in their live bits alone
  std::unique_ptr<LiveCatalog> catalog_, follower_;
  CarriedFilters filters_{random_};
  std::vector<Kept> versions_;
};

TEST(LiveCatalog, VersionsHoldWhatTheirHistoryMadeOfThem) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  const Runtime runtime;
  for (int i = 0; i < kHistories; ++i) {
    History(runtime.handle, random).run();
    ASSERT_FALSE(HasFailure()) << "history " << i;
  }
}

}  // namespace
}  // namespace sidbeam::testing
