// What the sample works on: a catalogue, and what users did with it, read from files or made up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace recommend {

using Sid = std::vector<int32_t>;

struct Item {
  Sid sid;
  int64_t id;
  std::string title;
};

// SIDs are given by their number in Dataset::sids.
struct Query {
  std::string user;
  std::vector<int32_t> history;  // oldest first
  int32_t target;                // what the user took next
};

struct Dataset {
  std::string name;
  int32_t levels = 0;
  std::vector<int32_t> codes;  // [levels] codes of a level
  std::vector<Item> items;
  std::vector<Sid> sids;  // sorted, distinct
  std::vector<Query> train, test;
};

// Reads X.index.json (LC-Rec's format: {"item": ["<a_1>", "<b_2>", "<c_3>"]}) and beside it X.items.tsv (SID, title,
// item) and X.valid.jsonl and X.test.jsonl ({"user", "history", "target"}). `path` is the first, or a folder with one.
Dataset read_dataset(const std::string& path);

// Writes those files, X being the data's name with '_' for blanks, which read_dataset() reads again.
void write_dataset(const Dataset& data, const std::string& folder);

// The same in small without any file: shelves of similar items that share prefixes, users who stay near a shelf.
Dataset make_dataset();

// Sets what follows from data.items: levels, codes, sids.
void number_sids(Dataset& data);

}  // namespace recommend
