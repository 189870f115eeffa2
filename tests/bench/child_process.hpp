#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace ackbox::bench {

/// This program again, in another role and another process: we write to its standard input and read its standard
/// output, by lines. It ends when its input does, so that none is left behind if we die. Its disk is as slow as ours is
/// when it is started.
class ChildProcess {
public:
  /// Throws `std::runtime_error`.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Ends its input and waits for its end; kills it first when it was not finished by `finish`.
  ~ChildProcess();

  /// Throws `std::runtime_error` when it ended instead.
  [[nodiscard]] std::string readLine();
  void writeLine(const std::string& line);

  /// Ends its input and waits. Throws `std::runtime_error` unless it ended well.
  void finish();

private:
  void closeInput() noexcept;

  pid_t pid_ = -1;
  std::FILE* input_ = nullptr;
  std::FILE* output_ = nullptr;
};

}  // namespace ackbox::bench
