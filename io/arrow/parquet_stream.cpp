#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/util/config.h>
#include <parquet/arrow/reader.h>
#include <parquet/properties.h>

extern "C" {
#include "io/arrow/parquet_stream.h"
#include "runtime/base/error.h"
}

namespace {

// What a call of Arrow's returns or throws, in one line: some of its messages have several.
template <class Call> arrow::Status settle(const Call &call) {
  std::string message;
  try {
    const arrow::Status status = call();
    if (status.ok()) return arrow::Status::OK();
    message = status.message();
  } catch (const std::exception &error) {
    message = error.what();
  }
  std::replace_if(
      message.begin(), message.end(), [](unsigned char c) { return c < ' '; }, ' ');
  message.erase(message.find_last_not_of(' ') + 1);
  return arrow::Status::IOError(message);
}

// The batches of a file, which is open as long as they are read.
class file_batches : public arrow::RecordBatchReader {
public:
  // Whole columns of a group of rows are not kept: pages come as they are needed.
  arrow::Status open(const char *path) {
    parquet::ReaderProperties pages = parquet::default_reader_properties();
    parquet::ArrowReaderProperties rows;
    parquet::arrow::FileReaderBuilder builder;
    pages.enable_buffered_stream();
    pages.set_page_checksum_verification(true);
    rows.set_pre_buffer(false);
    rows.set_batch_size(PARQUET_BATCH);
    ARROW_RETURN_NOT_OK(builder.OpenFile(path, false, pages));
    ARROW_ASSIGN_OR_RAISE(file_, builder.properties(rows)->Build());
#if ARROW_VERSION_MAJOR >= 21
    ARROW_ASSIGN_OR_RAISE(batches_, file_->GetRecordBatchReader());
    return arrow::Status::OK();
#else
    return file_->GetRecordBatchReader(&batches_);
#endif
  }

  std::shared_ptr<arrow::Schema> schema() const override {
    return batches_->schema();
  }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch> *batch) override {
    return settle([&] { return batches_->ReadNext(batch); });
  }

private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_; // refers to file_, and ends before it
};

} // namespace

extern "C" int parquet_stream_open(struct ArrowArrayStream *stream, const char *path) {
  const arrow::Status status = settle([&] {
    auto batches = std::make_shared<file_batches>();
    ARROW_RETURN_NOT_OK(batches->open(path));
    return arrow::ExportRecordBatchReader(std::move(batches), stream);
  });
  if (status.ok()) return OK;
  FAIL(BAD_INPUT, "%s: cannot be read as Parquet: %s", path, status.message().c_str());
}
