#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "base/home_process.hpp"
#include "store/sqlite/outbound/application_writer.hpp"

namespace ackbox::extension {

/// What the extension keeps of one connection.
///
/// Thread-safety: that of the connection.
class Binding {
public:
  explicit Binding(sqlite3* connection);
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;
  ~Binding() { release(); }

  [[nodiscard]] sqlite3* connection() const noexcept { return connection_; }
  /// Throws `Error` with `otherProcess` in a child of the process that loaded the extension.
  void requireHome() const { home_.require(); }

  /// Binds the writer if the connection's file is an outbox, and does nothing otherwise: outside a transaction
  /// `synchronous` can still be raised. Throws nothing.
  void tryToBind() noexcept;
  /// As `OutboxWriter::enqueue`.
  EnqueueReceipt enqueue(const Frame& frame);
  /// As `OutboxWriter::publish`.
  PublishReceipt publish(const Frame& frame);
  /// Reads the options of the writer, and binds anew with them. Outside a transaction. Throws `Error` with
  /// `invalidOption`, and nothing is changed then.
  void configure(std::string_view json);
  /// What `ackbox stats FILE --json` prints.
  [[nodiscard]] std::string stats() const;
  /// What `ackbox explain FILE ID --json` prints; empty: the file has no such message.
  [[nodiscard]] std::string explain(std::string_view messageId) const;
  /// The peers that the file knows, with commas between.
  [[nodiscard]] std::string peerNames() const;

  /// Ends the statements that are kept: SQLite does not close a connection that has any.
  void release() noexcept;

private:
  void bind();
  /// The writer, which is about to store something.
  [[nodiscard]] store::sqlite::ApplicationWriter& writer();
  void committed() noexcept;

  sqlite3* const connection_;
  const HomeProcess home_;
  OutboxOptions options_;
  /// Where running agents watch for writers that end (`FileWatch`).
  std::string owners_;
  /// The open transaction has a message for them.
  bool hasEnqueued_ = false;
  std::unique_ptr<store::sqlite::ApplicationWriter> writer_;
};

}  // namespace ackbox::extension
