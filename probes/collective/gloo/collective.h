#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <gloo/context.h>

#include "probes/collective/rank_protocol.h"

namespace weft::probes {

/// What a check of the result found.
struct WrongValues {
  std::uint64_t count = 0;
  std::string first;  ///< "element 17 is 30 instead of 36"
};

/// One operation with its buffers, which are allocated once. fill, run and check belong together: one iteration.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual void fill(int iteration) = 0;
  /// Throws gloo::Exception when a peer is lost or silent for longer than the context's time-out.
  virtual void run(std::uint32_t tag) = 0;
  virtual WrongValues check(int iteration) const = 0;
  /// Flips the bits of one element of the result.
  virtual void corrupt() = 0;
};

/// REQUIRES: moved_bytes(op, bytes, ranks) > 0.
std::unique_ptr<Collective> make_collective(const std::shared_ptr<::gloo::Context>& context, Op op,
                                            std::uint64_t bytes);

/// Memory that one rank's buffers take, with those of Gloo itself.
std::uint64_t memory_needed(Op op, std::uint64_t bytes, int ranks);

/// Returns once every rank has called it.
void barrier(const std::shared_ptr<::gloo::Context>& context, std::uint32_t tag);

}  // namespace weft::probes
