// sidbeam catalog publish: a session of one writer, by operations on standard input.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <memory>

#include "commands.h"
#include "item_lists.h"
#include "json_lines.h"
#include "live.h"
#include "live_record.h"

namespace cli {
namespace {

namespace dom = simdjson::dom;

class Script {
 public:
  explicit Script(const WriterOptions& o)
      : o_(o), catalog_(open_catalog(o)), base_(open_version(catalog_.get(), 0)), records_(base_.get()) {}

  void run() {
    int64_t number = 0;
    for (std::string line; std::getline(std::cin, line);) {
      ++number;
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      const std::string place = "standard input:" + std::to_string(number);
      dom::element root;
      if (const auto error = parser_.parse(line).get(root))
        throw Failure(place + ": not JSON: " + simdjson::error_message(error));
      operate(place, root);
    }
    if (const int64_t left = catalog_info(catalog_.get()).changes; left > 0)
      throw Failure("standard input: its end, expected {\"publish\": true} before it: " + with_commas(left) +
                    " changes are dropped");
  }

 private:
  void operate(const std::string& place, dom::element root) {
    dom::object object;
    if (root.get(object) || object.size() != 1)
      throw Failure(place + ": " + importer::shortened(simdjson::minify(root)) +
                    R"(, expected an object with one of "add", "remove", "publish", "discard")");
    const dom::key_value_pair operation = *object.begin();
    const auto is = [&](const char* name) { return operation.key == name; };
    if (is("add")) return add(place, operation.value);
    if (is("remove")) return remove(place, operation.value);
    bool yes = false;
    const bool publishes = is("publish");
    if (!publishes && !is("discard"))
      throw Failure(place + ": \"" + std::string(operation.key) +
                    R"(", expected "add", "remove", "publish", "discard")");
    if (operation.value.get(yes) || !yes)
      throw Failure(place + ": \"" + std::string(operation.key) + "\": expected true");
    if (!publishes) return call(sidbeam_catalog_discard, catalog_.get());
    publish();
  }

  void publish() {
    const int64_t before = catalog_info(catalog_.get()).version;
    int64_t newest = 0;
    call(sidbeam_catalog_publish, catalog_.get(), &newest);
    const sidbeam_version_info version = version_info(catalog_.get(), newest);
    if (!o_.json) return print_line(version_text(version) + (newest > before ? "" : "  as before"));
    Json report = version_json(version);
    report.add("new", newest > before);  // "published" is when
    print_json(report);
  }

  // Each element of an array, or the value itself.
  template <class Take>
  static void each(dom::element value, const Take& take) {
    dom::array values;
    if (value.get(values)) return take(value);
    for (const dom::element one : values) take(one);
  }

  void add(const std::string& place, dom::element value) {
    each(value, [&](dom::element record) { records_.add(place, record, catalog_.get()); });
  }

  void remove(const std::string& place, dom::element value) {
    std::vector<std::string> ids;
    each(value, [&](dom::element item) { ids.push_back(json_item(place + ": \"remove\"", item)); });
    const ItemLists lists(place, ids, index_info(base_.get()).id_type);
    const auto list = lists.of(0);
    if (!ids.empty()) call(sidbeam_catalog_remove, catalog_.get(), &*list, nullptr);
  }

  const WriterOptions& o_;
  Catalog catalog_;
  Index base_;
  LiveRecords records_;
  dom::parser parser_;
};

}  // namespace

void add_live_publish(Command catalog) {
  const auto o = std::make_shared<WriterOptions>();
  const Command command =
      catalog.add_subcommand("publish", "Publish what operations on standard input add and remove, as they come");
  add_folder(command, o->folder);
  add_writer_options(command, *o);
  command.footer(
      "A JSON object a line. For each that publishes there is a line of output: the new version or, where nothing was\n"
      "changed, the one before, \"as before\" (--json: \"new\": false):\n"
      "  {\"add\": {\"item\": 17, \"sid\": [3, 1, 2], \"priority\": 5, \"price\": 9.5}}   also an array of such; "
      "fields\n"
      "      that have no other meaning are attributes of the catalogue; several SIDs are a list of lists\n"
      "  {\"remove\": [17, 4711]}   {\"discard\": true}   {\"publish\": true}\n"
      "On an error, and at the end of the input, what was not published is dropped.\n"
      "Example:\n"
      "  sidbeam catalog publish office_live <operations.jsonl");
  command.callback([o] { Script(*o).run(); });
}

}  // namespace cli
