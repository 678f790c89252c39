// SPDX-License-Identifier: Apache-2.0
#include "live.h"

#include <filesystem>

#include "drawing.h"

namespace fuzz {
namespace {

std::string copy_live(const Room& room) {
  std::filesystem::copy(room.sound.live, room.scratch.path(kLive), std::filesystem::copy_options::recursive);
  return room.scratch.path(kLive);
}

Arguments write_live(const Room& room, const char* command, Random& random) {
  Arguments arguments = {"catalog", command, copy_live(room)};
  if (random.one_in(4)) add(arguments, {"--keep-versions", std::to_string(random.below(4))});
  if (random.one_in(8)) add(arguments, {"--keep-age", random.one_in(2) ? "0.001" : "86400"});
  if (random.one_in(8)) add(arguments, {"--accept-loss"});
  return arguments;
}

}  // namespace

std::string some_index(const Room& room, Random& random) {
  if (random.one_in(2)) return room.sound.index;
  return room.sound.live + (random.one_in(2) ? "" : "@" + std::to_string(random.below(5)));
}

Arguments create_live(const Room& room, const std::string& index, Random& random) {
  return {"catalog", "create", room.scratch.path(kOutput), random.one_in(16) ? "--input" : "--base", index};
}

Arguments create_live_of(const Room& room, const std::string& catalogue) {
  return {"catalog", "create", room.scratch.path(kOutput), "--input", catalogue};
}

Arguments add_to_live(const Room& room, const std::string& catalogue, Form form, Random& random) {
  Arguments arguments = write_live(room, "add", random);
  arguments.push_back(catalogue);
  if (!random.one_in(4)) add(arguments, {"--format", format_of(form)});
  if (random.one_in(2)) return arguments;
  add_reading(arguments, form, random);
  if (random.one_in(8)) add(arguments, {"--item-column", "item"});
  if (random.one_in(8)) add(arguments, {"--priority-column", "priority"});
  if (random.one_in(8)) add(arguments, {"--attributes", random.one_in(2) ? "price" : "price,region:string"});
  if (form == Form::kCsv && random.one_in(2)) add(arguments, {"--sid-columns", random.one_in(2) ? "c0,c1,c2" : "sid"});
  return arguments;
}

Arguments remove_from_live(const Room& room, const std::string& ids, Random& random) {
  Arguments arguments = write_live(room, "remove", random);
  add(arguments, {"--ids", ids});
  return arguments;
}

Arguments operate_live(const Room& room, Random& random) { return write_live(room, "publish", random); }

Arguments any_live(const Room& room, Random& random) {
  const std::string live = room.sound.live, version = std::to_string(random.below(5));
  Arguments arguments;
  switch (random.below(7)) {
    case 0:
      return {"catalog", "log", live};
    case 1:
      arguments = {"catalog", "follow", live, "--wait", "0"};
      if (random.one_in(2)) add(arguments, {"--since", version});
      if (random.one_in(2)) add(arguments, {"--count", "1"});
      return arguments;
    case 2:
      arguments = {"diff", some_index(room, random), some_index(room, random)};
      if (random.one_in(2)) add(arguments, {"--list", std::to_string(random.below(4))});
      return arguments;
    case 3:
      arguments = write_live(room, "rollback", random);
      arguments.push_back(version);
      return arguments;
    case 4:
      arguments = write_live(room, "remove", random);
      for (uint64_t i = 1 + random.below(3); i > 0; --i) arguments.push_back(std::to_string(random.below(12)));
      return arguments;
    default:
      arguments = write_live(room, "compact", random);
      add(arguments, {"--threads", "1"});
      if (random.one_in(4)) add(arguments, {"--memory-limit", random.one_in(2) ? "64K" : "1G"});
      if (random.one_in(4)) add(arguments, {"--rate", "1G"});
      return arguments;
  }
}

}  // namespace fuzz
