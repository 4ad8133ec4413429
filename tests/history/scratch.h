#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "topology/error.h"

namespace weft::history {

/// A directory that goes away with the test.
class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / "weft-test-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// File permissions mean nothing to root: as `nobody` for as long as it lives, where we are root.
class Unprivileged {
 public:
  Unprivileged() : was_root_(::geteuid() == 0) {
    if (was_root_ && ::seteuid(65534) != 0) throw std::runtime_error("seteuid");
  }
  ~Unprivileged() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  bool was_root_;
};

/// What `action` throws, which must be an `Expected`; an empty detail (and a failed test) when it does not.
template <typename Expected, typename Action>
ErrorDetail thrown_by(Action action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.detail();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw another kind: " << error.what();
    return {};
  }
  ADD_FAILURE() << "threw nothing";
  return {};
}

}  // namespace weft::history
