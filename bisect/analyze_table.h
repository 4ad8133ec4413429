#pragma once

#include "bisect/analyze.h"
#include "bisect/run.h"
#include "bisect/verdict.h"
#include "probes/collective/measurement_table.h"
#include "topology/fabric.h"

namespace weft::bisect {

struct AnalyzeTableOptions {
  AnalyzeOptions inference;
  bool small_effects = false;  ///< also look for nodes that cost a fraction of a per cent (small_effects.h)
};

/// What `analyze` says of a table's measurements, and what the rest of the table adds:
///
/// - `not-the-cause`: a property that a fast measurement has as well as a slow one of its shape;
/// - `no-result`: nodes that gave nothing in the last round: what they gave earlier says nothing of them now, so that
///   nothing is called healthy then;
/// - `above-the-wires`: groups faster than the flat ring of their rails, which are no measure for others;
/// - `small-effect`, where asked for.
///
/// A finding of a loss by size says what share of the wires each size reaches where the fabric declares their speed.
/// The order of rows does not matter. REQUIRES: every node of the table is in `fabric`; the table has measurements.
Verdict analyze_table(const topology::Fabric& fabric, const probes::MeasurementTable& table,
                      const AnalyzeTableOptions& options);

/// The table's measurements as rounds of a run: one a number in its column `round`, else a single one.
std::vector<RoundResult> rounds_of(const probes::MeasurementTable& table);

}  // namespace weft::bisect
