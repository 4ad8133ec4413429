#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::cli {

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal when it was killed by one
  std::string out;
  std::string err;
};

/// Runs the built `weft` as a user would, with a home and a history of its own that are gone afterwards.
class WeftProcess {
 public:
  WeftProcess();
  ~WeftProcess();
  WeftProcess(const WeftProcess&) = delete;
  WeftProcess& operator=(const WeftProcess&) = delete;

  /// With `signal`, sends it after `signal_after`. Ends, and fails, after a minute.
  Outcome run(const std::vector<std::string>& arguments, int signal = 0,
              std::chrono::milliseconds signal_after = std::chrono::milliseconds(0)) const;

  /// Processes on this machine that a run of this object started and that still live.
  std::vector<int> survivors() const;

  std::filesystem::path path(const std::string& name) const { return directory_ / name; }
  /// Writes a file, executable when it starts with "#!", and gives its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace weft::cli
