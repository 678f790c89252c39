// Table terms: what a filter of one term costs, by the type of the attribute; of all rows, one thread's processor time.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <random>
#include <string>

#include "index_tables.h"

namespace bench {
namespace {

constexpr int32_t kTermLevels = 3;
constexpr int64_t kWords = 200;

sidbeam_attribute_column column_of(const char* name) {
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  column.name = name;
  return column;
}

// Values of every type, of which a fifth of the numbers are null.
struct Values {
  std::vector<int64_t> integers, codes, lists, list_codes, offsets;
  std::vector<float> numbers;
  std::vector<uint8_t> bools, valid;
  std::string text;

  explicit Values(int64_t rows) {
    std::mt19937_64 random(31);
    lists.push_back(0);
    for (int64_t row = 0; row < rows; ++row) {
      integers.push_back(static_cast<int64_t>(random() % 10000));
      numbers.push_back(static_cast<float>(random() % 10000) / 100);
      bools.push_back(random() % 2);
      valid.push_back(random() % 5 != 0);
      codes.push_back(static_cast<int64_t>(random() % kWords));
      for (uint64_t i = random() % 4; i > 0; --i) list_codes.push_back(static_cast<int64_t>(random() % kWords));
      lists.push_back(static_cast<int64_t>(list_codes.size()));
    }
    for (int64_t word = 0; word <= kWords; ++word) {
      offsets.push_back(static_cast<int64_t>(text.size()));
      text += "word-" + std::to_string(word);
    }
  }

  sidbeam_attribute_column strings(const char* name) const {
    sidbeam_attribute_column column = column_of(name);
    column.text = text.data();
    column.offsets = offsets.data();
    column.string_count = kWords;
    return column;
  }
};

Index index_of(sidbeam_runtime* runtime, int64_t rows) {
  const Pages<int32_t> codes = draw_rows(rows, kTermLevels, kCodes, 5);
  const Values values(rows);
  sidbeam_attribute_column price = column_of("price"), rating = column_of("rating"), stock = column_of("stock"),
                           brand = values.strings("brand"), tags = values.strings("tags");
  price.integers = values.integers.data();
  rating.numbers = values.numbers.data();
  rating.valid = values.valid.data();
  stock.bools = values.bools.data();
  brand.codes = values.codes.data();
  tags.codes = values.list_codes.data();
  tags.lists = values.lists.data();
  BuildShape shape;
  shape.levels = kTermLevels;
  const Builder builder = make_builder(runtime, shape);
  const std::pair<const sidbeam_attribute_column*, int32_t> columns[] = {{&price, SIDBEAM_ATTRIBUTE_I64},
                                                                         {&rating, SIDBEAM_ATTRIBUTE_F32},
                                                                         {&stock, SIDBEAM_ATTRIBUTE_BOOL},
                                                                         {&brand, SIDBEAM_ATTRIBUTE_STRING},
                                                                         {&tags, SIDBEAM_ATTRIBUTE_STRING_LIST}};
  for (const auto& [column, type] : columns)
    call("builder_declare_attribute", sidbeam_builder_declare_attribute, builder.get(), column->name, type);
  call("builder_add", sidbeam_builder_add, builder.get(), codes.data(), static_cast<int32_t*>(nullptr), rows,
       static_cast<int64_t*>(nullptr), static_cast<int64_t*>(nullptr));
  for (const auto& each : columns)
    call("builder_set_attribute", sidbeam_builder_set_attribute, builder.get(), each.first, rows);
  return make<Index>("builder_finish", sidbeam_builder_finish, builder.get());
}

}  // namespace

Measurements terms_table(const Settings& settings) {
  constexpr const char* kTerms[] = {
      "price<5000",   "price in (1, 2, 3)",   "rating between 20 and 80",
      "stock",        "brand=\"word-7\"",     "brand in (word-1, word-2, word-3, word-4, word-5, word-6)",
      "brand<word-5", "tags contains word-7", "price is null"};
  const int64_t rows = settings.quick ? 20000 : 10000000;
  const Runtime runtime = runtime_of(1);
  const Index index = index_of(runtime.get(), rows);
  Measurements out;
  for (const char* term : kTerms) {
    std::vector<double> values;
    const auto bytes = static_cast<int64_t>(std::strlen(term));
    for (int run = 0; run < (settings.quick ? 2 : 15); ++run) {
      Filter filter;
      const double begin = processor_seconds();
      filter = make<Filter>("filter_parse", sidbeam_filter_parse, index.get(), term, bytes);
      values.push_back((processor_seconds() - begin) * 1e3);
    }
    out.push_back({"terms", {{"N", rows}}, term, "ms", summarise(values), ""});
  }
  return out;
}

}  // namespace bench
