// SPDX-License-Identifier: Apache-2.0
#include "pairs.h"

namespace fuzz::abi {

Shape shape_of(const Builder& builder) {
  return {builder.config.levels, builder.config.id_type, builder.config.variable_length != 0, builder.codes};
}

Shape shape_of(const sidbeam_index_info& info) {
  return {info.levels, info.id_type, info.variable_length != 0, {info.codes, static_cast<size_t>(info.levels)}};
}

// Entries past a length are not read: they hold what no code is.
Pairs draw_pairs(World& world, const Shape& shape, bool with_ids, int32_t fault) {
  const int32_t levels = shape.levels, count = fault == 0 ? world.in(0, 24) : world.in(1, 4);
  std::vector<int32_t> codes, lengths;
  for (int32_t i = 0; i < count; ++i) {
    lengths.push_back(shape.variable_length ? world.in(1, levels) : levels);
    for (int32_t l = 0; l < levels; ++l)
      codes.push_back(l < lengths.back() ? world.in(0, shape.codes[static_cast<size_t>(l)] - 1) : -7);
  }
  if (fault == 1) codes[0] = world.flip() ? -1 : shape.codes[0];
  if (fault == 2) lengths.back() = world.flip() ? 0 : levels + 1;
  const bool with_lengths = shape.variable_length || fault == 2 || world.flip();
  Pairs pairs{Array<int32_t>(std::move(codes)), {}, {}, {}, count};
  if (with_lengths) pairs.lengths = Array<int32_t>(std::move(lengths));
  std::vector<int64_t> ids, priorities;
  for (int32_t i = 0; i < count; ++i) {
    ids.push_back(world.one_in(8) ? world.strange() : world.in(0, 40));
    priorities.push_back(world.one_in(8) ? world.strange() : world.in(-1, 1));
  }
  if (with_ids) pairs.ids = Array<int64_t>(std::move(ids));
  if (world.flip()) pairs.priorities = Array<int64_t>(std::move(priorities));
  return pairs;
}

Names draw_names(World& world, int64_t count) {
  std::vector<char> bytes(3, '#');  // names may begin anywhere
  std::vector<int64_t> offsets{world.in(0, 3)};
  for (int64_t i = 0; i < count; ++i) {
    const int32_t length = world.in(0, 9);
    for (int32_t k = 0; k < length; ++k) bytes.push_back(static_cast<char>(world.in(-128, 127)));
    offsets.push_back(static_cast<int64_t>(offsets.back()) + length);
  }
  return {Array<char>(std::move(bytes)), Array<int64_t>(std::move(offsets))};
}

DrawnItems draw_items(World& world, const sidbeam_index_info& info, int32_t fault) {
  DrawnItems drawn;
  sidbeam_item_list& list = drawn.list;
  list.by = world.in(SIDBEAM_ITEMS_BY_ID, SIDBEAM_ITEMS_BY_ROW);
  list.count = fault == 0 ? world.in(0, 12) : world.in(1, 4);
  const bool named = list.by == SIDBEAM_ITEMS_BY_ID && info.id_type == SIDBEAM_ID_STRING;
  std::vector<int64_t> numbers, offsets{0};
  std::vector<char> names;
  for (int64_t i = 0; i < list.count; ++i) {
    numbers.push_back(world.one_in(6) ? world.strange() : world.in(0, 40));
    for (int32_t k = world.in(0, 5); k > 0; --k) names.push_back(static_cast<char>(world.in(-128, 127)));
    offsets.push_back(std::ssize(names));
  }
  if (fault == 1 && named) offsets.back() = -1;
  drawn.numbers = Array<int64_t>(std::move(numbers));
  drawn.offsets = Array<int64_t>(std::move(offsets));
  drawn.names = Array<char>(std::move(names));
  if (named != (fault == 2)) {
    list.names = drawn.names.get();
    list.offsets = drawn.offsets.get();
  } else {
    list.numbers = drawn.numbers.get();
  }
  if (fault == 1 && !named) list.numbers = nullptr;
  if (fault == 3) list.by = world.flip() ? -1 : 2;
  if (fault == 4) list.count = -1;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  return drawn;
}

}  // namespace fuzz::abi
