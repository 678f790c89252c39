// Rows of a fixed number of codes: .npy [N, L], an array of an .npz, raw int32 [N, L].
// Where lengths vary, a row ends with -1 (or NaN) for codes that it does not have.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "failure.h"
#include "fields.h"
#include "source.h"
#include "zip.h"

namespace importer {
namespace {

class MatrixSource final : public Source {
 public:
  MatrixSource(const CatalogueFiles& files, const Shape& shape, const NpyArray& array)
      : Source(files, shape), rows_(array), path_(array.path) {
    dtype_ = array.dtype;
    huge_ = array.is_u64();
    floats_ = array.is_float();
    if (files.ids) ids_.emplace(*files.ids, rows_.rows(), path_);
  }

  // Those of the file that its arrays are.
  void set_members(std::vector<ZipMember> members) { members_ = std::move(members); }
  void set_ids(const NpyArray& array) { ids_.emplace(array, rows_.rows(), path_); }
  void set_priorities(const NpyArray& array) {
    if (!array.is_integer() || array.is_u64() || array.shape != std::vector<int64_t>{rows_.rows()}) {
      throw Failure("'" + array.path + "': shape " + array.shape_text() + " of '" + array.dtype + "', expected (" +
                    std::to_string(rows_.rows()) + ",) integers" + (array.is_u64() ? " that an int64 holds" : ""));
    }
    priorities_.emplace(array);
  }

  void check_sums() const override {
    const auto poll = [this] { options_.progress(SIDBEAM_PHASE_SURVEY, 0, total()); };
    for (const ZipMember& member : members_) check_crc(file_, member, poll);
  }
  IdForm id_form() const override { return ids_ ? ids_->form() : IdForm::kNone; }
  bool gives_priorities() const override { return priorities_.has_value(); }
  int32_t levels() const override { return static_cast<int32_t>(std::min<int64_t>(rows_.columns(), INT32_MAX)); }
  int64_t done() const override { return record_; }
  int64_t total() const override { return rows_.rows(); }

 protected:
  bool read_record(Batch& batch) override {
    if (record_ == rows_.rows()) return false;
    const int64_t* const codes = rows_.next();
    int64_t length = rows_.columns();
    while (shape_.variable_length && length > 0 && is_missing(codes[length - 1])) --length;
    for (int64_t i = 0; i < length; ++i) sids_.number(batch, checked(codes[i]));
    sids_.end_sid(batch);
    sids_.end_record(batch);
    if (ids_) ids_->next(batch, texts_);
    if (priorities_) batch.priorities.push_back(*priorities_->next());
    ++record_;
    return true;
  }

  std::string place() const override { return "'" + path_ + "': row " + std::to_string(record_); }

 private:
  bool is_nan(int64_t code) const { return floats_ && code == RowReader::kMissing; }
  bool is_missing(int64_t code) const { return !huge_ && (code == -1 || is_nan(code)); }

  int64_t checked(int64_t code) const {
    if (huge_ && code < 0) fail("code " + std::to_string(static_cast<uint64_t>(code)) + " is too large");
    if (is_nan(code)) fail("NaN, expected integer codes");
    if (floats_ && code == RowReader::kFraction) {
      fail("a number that is not whole, or that '" + dtype_ + "' does not tell from its neighbours, expected codes");
    }
    return code;
  }

  RowReader rows_;
  std::string path_, dtype_;
  bool huge_ = false, floats_ = false;
  std::vector<ZipMember> members_;
  std::optional<IdReader> ids_;
  std::optional<RowReader> priorities_;
};

void check_matrix(const NpyArray& array) {
  if (!array.is_integer() && !array.is_float()) {
    throw Failure("'" + array.path + "': dtype '" + array.dtype + "', expected integer codes");
  }
  if (array.shape.size() != 2) {
    throw Failure("'" + array.path + "': shape " + array.shape_text() + ", expected (N, L)");
  }
  if (array.elements() == 0) {
    throw Failure("'" + array.path + "': shape " + array.shape_text() + ", expected at least one SID of one code");
  }
}

// As NumPy has it.
std::string array_name(const ZipMember& member) {
  constexpr std::string_view kEnd = ".npy";
  const bool ends = std::string_view(member.name).ends_with(kEnd);
  return member.name.substr(0, member.name.size() - (ends ? kEnd.size() : 0));
}

// The array of an .npz by its name, or, where there is none, by the names in use; -1: none of them.
int find_array(const std::vector<ZipMember>& members, const CatalogueFiles& files, const std::string& name,
               const Names& known, const char* option) {
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const ZipMember& member : members) names.push_back(array_name(member));
  return find_field(names, name, known, files.options.named(option), "'" + files.input.path() + "'", "array");
}

NpyArray open_member(const CatalogueFiles& files, const ZipMember& member) {
  return read_any_npy(files.input, files.input.path() + ":" + member.name, member.data_at, member.bytes);
}

bool is_column(const CatalogueFiles& files, const ZipMember& member, int64_t rows) {
  try {
    const NpyArray array = open_member(files, member);
    return array.is_integer() && array.shape == std::vector<int64_t>{rows};
  } catch (const Failure&) {
    return false;  // of no numbers, or damaged: nobody has asked for it
  }
}

// Ids and priorities whose array has a damaged name would be dropped without a word: throws where there are none and a
// column of integers has nearly such a name.
void check_near(const CatalogueFiles& files, const std::vector<ZipMember>& members, const ZipMember& sid, int64_t rows,
                const Names& known, const char* option) {
  for (const ZipMember& member : members) {
    const std::string name = array_name(member);
    const auto usual = std::find_if(known.begin(), known.end(), [&](auto word) { return are_near(name, word); });
    if (usual == known.end() || member.data_at == sid.data_at || !is_column(files, member, rows)) continue;
    throw Failure("'" + files.input.path() + "': array '" + name + "' may be '" + std::string(*usual) + "', expected " +
                  files.options.named(option) + " to say which array that is");
  }
}

}  // namespace

std::unique_ptr<Source> open_npy(const CatalogueFiles& files, const Shape& shape) {
  const NpyArray array = read_any_npy(files.input, files.input.path(), 0, files.input.size());
  check_matrix(array);
  return std::make_unique<MatrixSource>(files, shape, array);
}

std::unique_ptr<Source> open_npz(const CatalogueFiles& files, const Shape& shape) {
  const std::vector<ZipMember> members = zip_members(files.input);
  const Options& o = files.options;
  std::vector<ZipMember> used;
  const auto array = [&](int i) { return open_member(files, used.emplace_back(members[static_cast<size_t>(i)])); };
  int sid = find_array(members, files, o.sid_columns, kSidNames, "sid_columns");
  if (sid < 0 && members.size() == 1) sid = 0;
  if (sid < 0) {
    throw Failure("'" + files.input.path() + "': which of its arrays has the SIDs cannot be told (" +
                  o.named("sid_columns") + ")");
  }
  const NpyArray codes = array(sid);
  check_matrix(codes);
  auto source = std::make_unique<MatrixSource>(files, shape, codes);
  const int item = find_array(members, files, o.item_column, kItemNames, "item_column");
  if (item >= 0 && files.ids) throw UsageError(o.named("ids") + ": the file has ids of its own");
  if (item >= 0) source->set_ids(array(item));
  if (item < 0 && !files.ids) check_near(files, members, used[0], codes.shape[0], kItemNames, "item_column");
  const int priority = find_array(members, files, o.priority_column, kPriorityNames, "priority_column");
  if (priority >= 0) source->set_priorities(array(priority));
  if (priority < 0) check_near(files, members, used[0], codes.shape[0], kPriorityNames, "priority_column");
  source->set_members(std::move(used));
  return source;
}

std::unique_ptr<Source> open_raw(const CatalogueFiles& files, const Shape& shape) {
  if (shape.levels == 0) {
    throw UsageError(files.options.named("levels") + ": raw rows need it, expected the number of codes of a row");
  }
  const int64_t levels = shape.levels, row = levels * 4, bytes = files.input.size();
  if (bytes % row != 0) {
    throw Failure("'" + files.input.path() + "': " + std::to_string(bytes) + " bytes, expected a multiple of " +
                  std::to_string(row) + " (" + std::to_string(levels) + " codes of 4 bytes)");
  }
  return std::make_unique<MatrixSource>(files, shape,
                                        NpyArray{files.input.path(), "<i4", {bytes / row, levels}, &files.input, 0, 4});
}

}  // namespace importer
