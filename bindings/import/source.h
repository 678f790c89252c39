// A catalogue file being read: rows come in batches, in the order of the file, each checked as it comes.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_SOURCE_H
#define SIDBEAM_IMPORT_SOURCE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "alike.h"
#include "attributes.h"
#include "batch.h"
#include "ids_text.h"
#include "options.h"
#include "pattern.h"
#include "rows.h"
#include "sids.h"

namespace importer {

// The files of a catalogue, open; sources read from them, any number of times.
struct CatalogueFiles {
  explicit CatalogueFiles(const Options& options);

  const Options& options;
  InputFile input;
  std::unique_ptr<InputFile> ids;  // options.ids
  std::string format;              // never auto
};

class Source : public Where {
 public:
  Source(const CatalogueFiles& files, const Shape& shape);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // The next rows, a batch or a few more; false at the end.
  bool next(Batch& batch);
  // Before the first row: throws where the file has checksums and they are others.
  virtual void check_sums() const {}
  // After the last row: throws where something that was asked for was in none of them.
  virtual void check_asked() const {}
  // The same where one of its ids is missing, all others being numbers.
  void check_numbers() const { texts_.check_numbers(); }
  virtual IdForm id_form() const = 0;
  // Whether the records have priorities, as far as they have been read.
  virtual bool gives_priorities() const { return false; }
  // Codes of every SID where the format says so before a row is read, else 0.
  virtual int32_t levels() const { return 0; }
  // Bytes or rows read, and to read, for a progress bar.
  virtual int64_t done() const = 0;
  virtual int64_t total() const = 0;
  const Sids& sids() const { return sids_; }
  const Attributes& attributes() const { return attributes_; }
  std::string row() const override;

 protected:
  // Appends the rows of one record, or of some that are alike; false at the end.
  virtual bool read_record(Batch& batch) = 0;
  // The line that the record is in, or -1.
  virtual int64_t line() const { return -1; }
  // What holds the ids, quoted: "'item_id'".
  virtual std::string id_field() const { return ""; }
  // "'items.jsonl':17: item 'B07'"
  std::string place() const override;
  [[noreturn]] void fail(const std::string& what) const { sids_.fail(what); }
  // The record is complete: its SIDs are those of the item.
  void end_record(Batch& batch, std::string_view item);
  // Reads the records that begin the text, some of them at most, while each is like one that has been read; returns
  // their bytes. 0: the first is not, or may be wrong, and nothing has happened.
  size_t read_alike(Batch& batch, std::string_view text, size_t* rows);
  // Makes a pattern of the record that has just ended. `sid` is its only SID, in parts as Sids::find_numbers has them;
  // `marks` are the other holes.
  void learn(std::string_view record, std::vector<Pattern::Mark> marks, const std::vector<std::string_view>& sid,
             bool whole);
  // Whether a text that fits a pattern, and is not all ASCII, is a record.
  virtual bool accepts(std::string_view /*record*/) const { return true; }
  // Bytes from the end of a record, which the text follows, to where another one may begin, as far as its pattern does
  // not have them; kNoEnd where no record ends here.
  static constexpr size_t kNoEnd = ~size_t{0};
  virtual size_t bytes_between(std::string_view /*text*/) const { return 0; }
  // A record of read_alike has been read.
  virtual void end_alike(std::string_view /*record*/, std::string_view /*item*/) {}
  // The item of the record, for messages, as soon as it is known.
  void name_item(std::string_view item) { item_ = item; }

  const Options& options_;
  const InputFile& file_;
  Shape shape_;
  Sids sids_;
  Attributes attributes_;
  IdTexts texts_;
  int64_t record_ = 0;  // its number, for formats without lines

 private:
  std::string_view item_;
  Patterns patterns_;
  Pattern::Record alike_;
  AlikeRows alike_rows_;
};

// Ids from a file of their own: a .npy of integers, or text, one per line.
class IdReader : public Where {
 public:
  // Throws unless there is one id per row.
  IdReader(const InputFile& file, int64_t rows, const std::string& rows_path);
  // Of an array.
  IdReader(const NpyArray& array, int64_t rows, const std::string& rows_path);
  IdForm form() const;
  // `texts` are those of the source.
  void next(Batch& batch, IdTexts& texts);
  std::string place() const override { return "'" + path_ + "':" + std::to_string(row_); }
  std::string row() const override { return "line " + std::to_string(row_); }

 private:
  void use(const NpyArray& array);
  void check_count(int64_t count, int64_t rows, const std::string& rows_path) const;

  std::string path_;
  std::optional<RowReader> numbers_;
  bool unsigned_ = false;
  std::optional<TextReader> text_;  // where there is no array
  int64_t row_ = 0;
};

// The source of a format, or nullptr where there is none of that name; expected is the list of all names.
std::unique_ptr<Source> open_source(const CatalogueFiles& files, const Shape& shape);

std::unique_ptr<Source> open_objects(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_records(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_jsonl(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_csv(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_npy(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_npz(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_raw(const CatalogueFiles& files, const Shape& shape);
std::unique_ptr<Source> open_xllm(const CatalogueFiles& files, const Shape& shape);

}  // namespace importer

#endif
