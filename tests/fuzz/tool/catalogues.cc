// SPDX-License-Identifier: Apache-2.0
#include "catalogues.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

// What readers of text take for something.
const std::string kFragments[] = {"\"",
                                  "\\",
                                  "\\u0000",
                                  "\\ud800",
                                  "{",
                                  "}",
                                  "[",
                                  "]",
                                  ",",
                                  ":",
                                  "\n",
                                  "\r\n",
                                  "\r",
                                  "\t",
                                  ";",
                                  "null",
                                  "true",
                                  "-",
                                  "1e5",
                                  "0x1",
                                  "<a_1>",
                                  "<b_",
                                  "_2>",
                                  "\xef\xbb\xbf",
                                  "\xff",
                                  "\x1b]0;x\x07",
                                  "\xc2\x9b",
                                  "-1",
                                  "\"item\"",
                                  "\"sid\": [1]",
                                  "\"priority\"",
                                  "{\"tokens\": [1]}\n",
                                  "{\"history\": [\"0\"]}\n",
                                  "{\"publish\": true}\n",
                                  "{\"remove\": [1]}\n",
                                  "{\"add\": {\"item\": 3, \"sid\": [1, 1, 1]}}\n",
                                  "\"history\": [2]",
                                  "[0,1,2,3]",
                                  "item,sid\n",
                                  "\"\"",
                                  "'",
                                  " ",
                                  std::string(1, '\0')};
const std::string kNumbers[] = {"0",
                                "-1",
                                "00",
                                "7.0",
                                "2147483647",
                                "2147483648",
                                "4294967296",
                                "9223372036854775807",
                                "16777215",
                                "16777216",
                                "-9223372036854775808",
                                "18446744073709551615",
                                "18446744073709551616",
                                "1e400",
                                "99999999999999999999999"};

bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

void replace(Bytes& bytes, size_t begin, size_t end, const std::string& with) {
  bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.begin() + static_cast<std::ptrdiff_t>(end));
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(begin), with.begin(), with.end());
}

void change_number(Bytes& bytes, Random& random) {
  size_t begin = random.below(bytes.size());
  while (begin < bytes.size() && !is_digit(bytes[begin])) ++begin;
  size_t end = begin;
  while (end < bytes.size() && is_digit(bytes[end])) ++end;
  if (begin == end) return;
  replace(bytes, begin, end, random.one_in(2) ? random.pick(kNumbers) : std::to_string(random.skewed(16)));
}

struct Line {
  size_t begin, end;
};

Line line_at(const Bytes& bytes, size_t at) {
  Line line{at, at};
  while (line.begin > 0 && bytes[line.begin - 1] != '\n') --line.begin;
  while (line.end < bytes.size() && bytes[line.end] != '\n') ++line.end;
  line.end = std::min(line.end + 1, bytes.size());
  return line;
}

void change_lines(Bytes& bytes, Random& random) {
  const Line line = line_at(bytes, random.below(bytes.size()));
  const std::string text(bytes.begin() + static_cast<std::ptrdiff_t>(line.begin),
                         bytes.begin() + static_cast<std::ptrdiff_t>(line.end));
  if (random.one_in(3)) return replace(bytes, line.begin, line.end, "");
  const size_t to = line_at(bytes, random.below(bytes.size())).begin;
  std::string copies;
  for (uint64_t i = random.one_in(4) ? random.skewed(6) : 1; i > 0; --i) copies += text;
  replace(bytes, to, to, copies);
}

void nest(Bytes& bytes, Random& random) {
  const std::string open = random.one_in(2) ? "[" : "{\"a\":";
  std::string deep;
  for (uint64_t i = random.skewed(11); i > 0; --i) deep += open;
  const size_t at = random.below(bytes.size());
  replace(bytes, at, at, deep);
}

// A word of a record, or of a header.
void change_word(Bytes& bytes, Random& random) {
  if (bytes.size() < 4) return;
  const size_t at = random.below(bytes.size() - 3) & ~size_t{random.one_in(4) ? 0u : 3u};
  constexpr uint32_t kWords[] = {0, 1, 255, 256, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, 16777216};
  const uint32_t word =
      random.one_in(2) ? kWords[random.below(std::size(kWords))] : static_cast<uint32_t>(random.skewed(10));
  std::memcpy(bytes.data() + at, &word, sizeof word);
}

// A shape whose product overflows, or is 0, perhaps beside a huge extent. Returns whether it is 0.
bool change_shape(Bytes& header, Random& random) {
  const std::string kShapes[] = {"(4611686018427387904, 4)",
                                 "(3037000500, 3037000500)",
                                 "(9223372036854775807,)",
                                 "(18446744073709551615, 3)",
                                 "(0, 9223372036854775807)",
                                 "(0, 3, 4611686018427387904)",
                                 "(0, 3, 5)",
                                 "(0, 4, 3)"};
  const auto open = std::find(header.begin(), header.end(), '(');
  const auto close = std::find(open, header.end(), ')');
  if (close == header.end()) return false;
  const std::string& shape = random.pick(kShapes);
  const auto at = header.erase(open, close + 1);
  header.insert(at, shape.begin(), shape.end());
  return shape.starts_with("(0,");
}

void change_npy_header(Bytes& bytes, Random& random) {
  constexpr size_t kLengthAt = 8, kTextAt = 10;
  uint16_t length = 0;
  std::memcpy(&length, bytes.data() + kLengthAt, sizeof length);
  const size_t end = std::min<size_t>(bytes.size(), size_t{kTextAt} + length);
  Bytes header(bytes.begin() + kTextAt, bytes.begin() + static_cast<std::ptrdiff_t>(end));
  if (header.empty()) return;
  const std::string kTexts[] = {"<i4", "<i8",  "<u8",   "|u1", "<f4",    "<f2",
                                ">i4", "True", "False", "()",  "(0, 3)", "(3,)"};
  bool without_data = false;
  if (random.one_in(4)) {
    without_data = change_shape(header, random);
  } else if (random.one_in(2)) {
    change_number(header, random);
  } else {
    const size_t at = random.below(header.size());
    const std::string& text = random.one_in(2) ? random.pick(kTexts) : random.pick(kFragments);
    replace(header, at, random.one_in(2) ? at : std::min(header.size(), at + text.size()), text);
  }
  const auto erased = static_cast<std::ptrdiff_t>(without_data ? bytes.size() : end);
  bytes.erase(bytes.begin() + kTextAt, bytes.begin() + erased);
  bytes.insert(bytes.begin() + kTextAt, header.begin(), header.end());
  length = static_cast<uint16_t>(header.size());
  if (!random.one_in(8)) std::memcpy(bytes.data() + kLengthAt, &length, sizeof length);
  if (random.one_in(16)) bytes[6] = static_cast<uint8_t>(random.below(5));
}

bool is_npy(const Bytes& bytes) { return bytes.size() > 12 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0; }

Bytes bytes_of_text(const std::string& text) { return {text.begin(), text.end()}; }

Bytes bytes_of_codes(const std::vector<int32_t>& codes) {
  Bytes bytes(codes.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), codes.data(), bytes.size());
  return bytes;
}

uint32_t crc32(const Bytes& data) {
  uint32_t crc = ~0U;
  for (const auto byte : data) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320U : crc >> 1;
  }
  return ~crc;
}

// What a zip file has of an array that is stored as it is: a header before it, and an entry in the directory.
Bytes zip_entry(const char* magic, const std::string& name, const Bytes& data, size_t at) {
  const bool listed = std::strcmp(magic, "PK\1\2") == 0;
  Bytes entry(listed ? 46 : 30);
  const auto put = [&](size_t place, size_t value, size_t bytes) { std::memcpy(entry.data() + place, &value, bytes); };
  const size_t sizes = listed ? 20 : 18;  // behind the sum of the data
  std::memcpy(entry.data(), magic, 4);
  put(sizes - 4, crc32(data), 4);
  put(sizes, data.size(), 4);
  put(sizes + 4, data.size(), 4);
  put(sizes + 8, name.size(), 2);
  if (listed) put(42, at, 4);
  entry.insert(entry.end(), name.begin(), name.end());
  return entry;
}

Bytes npz_bytes(const std::vector<std::pair<std::string, Bytes>>& arrays) {
  Bytes file, directory;
  for (const auto& [name, data] : arrays) {
    const Bytes listed = zip_entry("PK\1\2", name, data, file.size()), header = zip_entry("PK\3\4", name, data, 0);
    directory.insert(directory.end(), listed.begin(), listed.end());
    file.insert(file.end(), header.begin(), header.end());
    file.insert(file.end(), data.begin(), data.end());
  }
  Bytes end(22);
  std::memcpy(end.data(), "PK\5\6", 4);
  const auto bytes = static_cast<uint32_t>(directory.size()), at = static_cast<uint32_t>(file.size());
  std::memcpy(end.data() + 12, &bytes, sizeof bytes);
  std::memcpy(end.data() + 16, &at, sizeof at);
  file.insert(file.end(), directory.begin(), directory.end());
  file.insert(file.end(), end.begin(), end.end());
  return file;
}

}  // namespace

Bytes npy_bytes(const std::string& dtype, const std::string& shape, const void* data, size_t bytes) {
  std::string text = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((text.size() + 11) % 64 != 0) text += ' ';
  text += '\n';
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(text.size() & 255);
  file += static_cast<char>(text.size() >> 8);
  file += text;
  file.append(static_cast<const char*>(data), bytes);
  return bytes_of_text(file);
}

std::vector<CatalogueFile> catalogue_files() {
  const std::vector<int32_t> codes = {3, 1, 2, 3, 1, 0, 0, 0, 0, 2, 3, 3, 0, 2, 1, 3, 1, 2};
  const int64_t ids[] = {10, 11, 12, 13, 14, 15}, wide[] = {3, 1, 0, 2, 1, -1};
  std::vector<float> logits(3 * 5);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = -static_cast<float>(i % 4);
  Bytes records;
  for (int64_t id = 0; id < 6; ++id) {
    records.insert(records.end(), {static_cast<uint8_t>(id), 0, 0, 0, 0, 0, 0, 0});
    const Bytes row = bytes_of_codes({codes.begin() + id * 3, codes.begin() + id * 3 + 3});
    records.insert(records.end(), row.begin(), row.end());
  }
  return {
      {Form::kLcrec, bytes_of_text(R"({"10": ["<a_3>", "<b_1>", "<c_2>"], "11": ["<a_3>", "<b_1>", "<c_0>"], )"
                                   R"("x": ["<a_0>", "<b_2>", "<c_1>"]})")},
      {Form::kJsonl,
       bytes_of_text("{\"item\": \"B07\", \"sid\": [3, 1, 2], \"priority\": 5}\n"
                     "{\"item\": \"B08\", \"sid\": [0, 2, 1]}\n{\"item\": \"\\u00e9\", \"sid\": [1, 1, 1]}\n")},
      {Form::kJsonl, bytes_of_text("{\"item\": 7, \"sid\": [3]}\n{\"item\": 8, \"sid\": [3, 1]}\n")},
      {Form::kCsv, bytes_of_text("item,sid,priority\n10,3-1-2,1\n\"a,\"\"b\",3 1 0,2\n12,0;0;0,\n")},
      {Form::kCsv, bytes_of_text("item\tc0\tc1\tc2\n10\t3\t1\t2\n11\t0\t0\t\n")},
      {Form::kNpy, npy_bytes("<i4", "(6, 3)", codes.data(), codes.size() * sizeof(int32_t))},
      {Form::kNpy, npy_bytes("<i8", "(3, 2)", wide, sizeof wide)},
      {Form::kRaw, bytes_of_codes(codes)},
      {Form::kXllm, records},
      {Form::kIds, bytes_of_text("10\n11\nB07\n13\n14\n15\n")},
      {Form::kIds, npy_bytes("<i8", "(6,)", ids, sizeof ids)},
      {Form::kLogits, npy_bytes("<f4", "(3, 5)", logits.data(), logits.size() * sizeof(float))},
      {Form::kLogits, npy_bytes("<f4", "(1, 3, 5)", logits.data(), logits.size() * sizeof(float))},
      {Form::kLogits, npy_bytes("<f4", "(0, 3, 4611686018427387904)", logits.data(), 0)},
      {Form::kHidden, npy_bytes("<f4", "(4, 3)", logits.data(), 4 * 3 * sizeof(float))},
      {Form::kPrompts, bytes_of_text("{\"tokens\": [1, 5, 3], \"user\": 7}\n{\"history\": [0, \"3\", 1]}\n")},
      {Form::kPrompts, bytes_of_text("{\"history\": []}\n\n{\"tokens\": [-1, 11]}\r\n{\"tokens\": [2]}")},
      {Form::kMap, bytes_of_text("[[0, 1, 2, 3], [4, 5, 6, 7],\n [8, 9, 10, -1]]")},
      {Form::kJsonl, bytes_of_text("{\"item\": 7, \"sid\": [1007, 1300]}\n{\"item\": 8, \"sid\": [1001, 1256]}\n")},
      {Form::kJsonl,
       bytes_of_text("{\"item\": 7, \"sid\": \"<s0_4><s1_4>\"}\n{\"item\": 8, \"sid\": \"<s0_5><s1_4>\"}\n")},
      {Form::kCsv, bytes_of_text("item,sid\n10,\"3 1 2\n11,3 1 0\"\n12,\"0 0 0\"\n")},
      {Form::kCsv, bytes_of_text("<a_3><b_1>\tScrews\t10\n<a_3><b_2>\tNails, 3\"\t11\n")},
      {Form::kRecords,
       bytes_of_text("[{\"iid\": \"B07\", \"tokens\": [\"<s>\", \"<a_3>\", \"<b_1>\"]},\n"
                     " {\"iid\": \"B08\", \"tokens\": [\"<s>\", \"<a_0>\", \"<b_2>\"], \"priority\": 2}]")},
      {Form::kRecords, bytes_of_text("[{\"item\": 1, \"sid\": [[3, 1], [2, 0]]}, {\"item\": 2, \"sid\": [[3, 2]]}]")},
      {Form::kNpz, npz_bytes({{"sid.npy", npy_bytes("<i4", "(6, 3)", codes.data(), codes.size() * sizeof(int32_t))},
                              {"item.npy", npy_bytes("<i8", "(6,)", ids, sizeof ids)}})},
      {Form::kOperations,
       bytes_of_text("{\"add\": {\"item\": 17, \"sid\": [3, 1, 2], \"priority\": 5}}\n{\"publish\": true}\n"
                     "{\"remove\": [17, 0]}\n{\"discard\": true}\n{\"remove\": 1}\n{\"publish\": true}\n")},
      {Form::kOperations,
       bytes_of_text("{\"add\": [{\"item\": 0, \"sid\": [[0, 0, 0], [3, 3, 3]]}]}\n\n{\"publish\": true}")},
      {Form::kNpz, npz_bytes({{"arr_0.npy", npy_bytes("<i8", "(3, 2)", wide, sizeof wide)}})},
  };
}

void mutate_catalogue(Bytes& bytes, size_t most, Random& random, MutateBytes mutate_bytes) {
  if (bytes.empty()) {
    const std::vector<CatalogueFile> files = catalogue_files();
    bytes = random.pick(files).bytes;
  }
  for (uint64_t changes = 1 + random.skewed(2); changes > 0 && !bytes.empty(); --changes) {
    const uint64_t what = random.below(10);
    if (is_npy(bytes) && random.one_in(2)) {
      change_npy_header(bytes, random);
    } else if (what < 3) {
      const size_t size = bytes.size();
      bytes.resize(std::max(size, most));
      bytes.resize(mutate_bytes(bytes.data(), size, most));
    } else if (what == 3) {
      change_lines(bytes, random);
    } else if (what == 4) {
      change_number(bytes, random);
    } else if (what == 5) {
      const size_t at = random.below(bytes.size());
      replace(bytes, at, random.one_in(2) ? at : at + 1, random.pick(kFragments));
    } else if (what == 6) {
      const Bytes copy = bytes;
      const size_t begin = random.below(copy.size()), at = random.below(bytes.size());
      const size_t end = begin + random.below(std::min<size_t>(copy.size() - begin, 64)) + 1;
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), copy.begin() + static_cast<std::ptrdiff_t>(begin),
                   copy.begin() + static_cast<std::ptrdiff_t>(std::min(end, copy.size())));
    } else if (what == 7 && random.one_in(4)) {
      nest(bytes, random);
    } else if (what == 8 && random.one_in(2)) {
      bytes.resize(random.below(bytes.size()));
    } else {
      change_word(bytes, random);
    }
  }
  bytes.resize(std::min(bytes.size(), most));
}

}  // namespace fuzz
