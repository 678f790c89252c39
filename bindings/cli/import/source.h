// A catalogue file being read: rows come in batches, in the order of the file, each checked as it comes.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_IMPORT_SOURCE_H
#define SIDBEAM_CLI_IMPORT_SOURCE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../files.h"
#include "../npy.h"

namespace cli {

// What is known of every SID; 0 or empty until it is known.
struct Shape {
  int32_t levels = 0;
  std::vector<int32_t> codes;  // [levels], or one number for every level while levels is not known
  bool variable_length = false;
};

enum class IdForm { kNone, kSigned, kUnsigned, kText };

// Rows, flat. Ids are in one of the two forms, or in neither.
struct Batch {
  std::vector<int32_t> codes;    // of all rows, end to end
  std::vector<int32_t> lengths;  // [rows]
  std::vector<int64_t> ids;      // [rows] where the source's ids are integers; u64 as the same bits
  std::string names;             // where they are text: row i has names[name_ends[i-1] .. name_ends[i])
  std::vector<int64_t> name_ends;
  std::vector<int64_t> priorities;  // [rows], or empty

  size_t size() const { return lengths.size(); }
  std::string_view name(size_t row) const;
  void add_name(std::string_view name);
  void clear();
};

class Source {
 public:
  static constexpr size_t kBatch = size_t{1} << 16;

  explicit Source(const Shape& shape);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // The next rows, at most kBatch; false at the end.
  bool next(Batch& batch);
  virtual IdForm id_form() const = 0;
  // Codes of every SID where the format says so before a row is read, else 0.
  virtual int32_t levels() const { return 0; }
  // Bytes read, and bytes to read, for the progress bar.
  virtual int64_t done() const = 0;
  virtual int64_t total() const = 0;

 protected:
  // Appends one row with add_code and end_row; false at the end.
  virtual bool read_row(Batch& batch) = 0;
  // Where the current row is: "items.jsonl:17".
  virtual std::string place() const = 0;

  [[noreturn]] void fail(const std::string& what) const;
  void add_code(Batch& batch, int64_t code);
  void end_row(Batch& batch);
  const Shape& shape() const { return shape_; }

 private:
  [[noreturn]] void fail_long() const;

  Shape shape_;
  int32_t position_ = 0;  // codes of the row so far
  int32_t first_ = 0;     // codes of the first row
  int32_t most_;          // codes that a row may have
};

struct ImportOptions {
  std::string input, format = "auto", ids, codes;
  std::string item_column, sid_columns, priority_column;
  int32_t levels = 0;
  bool variable_length = false;
};

// The files of a catalogue, open; sources read from them, any number of times.
struct CatalogueFiles {
  explicit CatalogueFiles(const ImportOptions& options);
  std::unique_ptr<Source> source(const Shape& shape) const;

  const ImportOptions& options;
  InputFile input;
  std::unique_ptr<InputFile> ids;  // --ids
  std::string format;              // never auto
};

// Ids from a file of their own: a .npy of integers, or text, one per line.
class IdReader {
 public:
  // Throws unless there is one id per row.
  IdReader(const InputFile& file, int64_t rows, const std::string& rows_path);
  IdForm form() const;
  void next(Batch& batch);

 private:
  std::string path_;
  std::optional<NpyArray> array_;
  std::optional<IntegerReader> numbers_;  // of array_
  TextReader text_;                       // where there is no array
  int64_t row_ = 0;
};

// The code of "<a_236>", or -1.
int64_t token_code(std::string_view token);

std::unique_ptr<Source> open_lcrec(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_jsonl(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_csv(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_npy(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_raw(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_xllm(const CatalogueFiles& files, const Shape& shape);

}  // namespace cli

#endif
