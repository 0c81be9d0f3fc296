// The schedule of sums of products (matrix products, convolutions, dense layers): register tiles over packed panels of
// weights (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
//
// Axes: M are the pixels of the image (or the rows of a matrix), N the output channels, K the input channels times the
// taps of the kernel; batch axes appear in both factors. The loop nest, for weights that stay in the cache:
//
//   for batch:
//     parallel panel < N / panel_width:                  # 32, 48 or 80 if one divides N
//       parallel tile of the image:                      # height x width pixels, rows of the register tile
//         acc[height, width, vectors, lanes] = 0         # registers; vectors * lanes divides panel_width
//         for K block, tap, channel within the block:    # contraction_k_loops.h
//           acc[y, x, v, lane] += data[pixel(y, x), k] * panels[panel, k, v * lanes + lane]
//           prefetch a share of the next panel, and of the next tile's operands
//         result[pixel, panel * panel_width + ..] = epilogue(acc)
//
// An image that does not stay in the cache is cut into M blocks, each of which meets all panels:
//
//   for batch: parallel M block: parallel panel: parallel tile of the block: ..
//
// K-blocking, for panels above Machine::l2_reuse_limit, and for accuracy: partial sums over some blocks of K are added
// to `total`, a buffer of one M block and one panel, after which the epilogue runs over `total`.
//
//   parallel panel: parallel M block: total = 0; for K part: for tile: acc = ..; total += acc;  for tile: store
//
// Weights are packed as [axes without K] [N / panel_width] [K blocks, taps] [channels of a block] [panel_width]: a
// constant packed at compile time, or scratch that the kernel fills. With K-interleaved packing (VNNI packing), pairs
// of neighbouring K indices share a vector: [channels of a block / 2] [panel_width] [2].
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tensor/analysis.h"
#include "tensor/machine.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Decisions about memory, shared by all machines: how weights are packed, which operands are copied.
struct ContractionPlan {
  TensorFunction function;
  Contraction contraction;
  int n_axis = -1;              // of the stage: in the weights, and in the data at most as the index of its group
  std::vector<int> m_axes;      // axes that only the data has; the last two are the image that is tiled
  std::vector<int> batch_axes;  // axes of both factors: one product for each index
  bool blocked_result = false;  // the result is stored in blocks of N, so that whole blocks may be written
  int64_t panel_width = channel_block;  // N indices of a packed panel
  // Neighbouring K indices that share a vector: lane l has N index l / k_interleave and K index l % k_interleave. With
  // 2, an N that ends with half a channel block wastes no lanes; the lanes of an N index are added when a tile is
  // stored.
  int64_t k_interleave = 1;
  // Four neighbouring K indices are packed and multiplied together (tensor/byte_products.h): k_interleave is 4, but the
  // accumulators have one lane for each N index.
  bool byte_products = false;
  int64_t lanes_of_n() const { return byte_products ? 1 : k_interleave; }
  Layout weights_layout;              // of the packed weights
  bool threads_share_panels = false;  // several threads run the loop over panels
  // The packed weights: a constant in place of the weights, or scratch. Null: the weights are read as they are.
  Buffer panels;
  bool packs_at_run_time = false;
  // Scratch copy of the data, or null: with a halo of zeros, where the data's storage has none; in blocks of channels;
  // or of only the elements whose index in each dimension is a multiple of its stride.
  Buffer data_copy;
  Layout data_layout;
  std::vector<int64_t> data_strides;
  int blocked_k = -1;             // the reduced axis that the data's storage splits into blocks, or -1
  int64_t k_block = 1;            // K indices of such a block
  int64_t k_per_accumulator = 0;  // upper bound of the products added in one accumulator; 0: none
};

// Pixels (M) and vectors of N whose accumulators are computed together: the most products per load that fit the
// registers. The vectors divide the panel. A tile needs registers for
//   rows * vectors accumulators,
//   `vectors` vectors of weights,
//   the data: one broadcast element, or one vector of K for each row (Machine::multiplies_by_lane),
//   without FMA: the product, and the two factors of the next product, which the instruction scheduler loads early;
//     with K-interleaving, the four factors of the next two products,
//   products of bytes by 16-bit numbers: the odd bytes of weights and data, and the products,
//   one value to spare.
struct RegisterTile {
  int64_t rows = 1, vectors = 1;
};
RegisterTile choose_register_tile(const Machine&, int64_t n_per_vector, int64_t panel_width, int64_t k_interleave = 1,
                                  bool byte_products = false);

// A tile of that shape fits the registers with several accumulators for each of its elements.
bool fits_registers(const Machine&, const RegisterTile&, int64_t accumulators_of_element, int64_t k_interleave = 1,
                    bool byte_products = false);

// The tile of all of a product's few rows, which reads all weights once: it spans as many whole panels as it takes to
// read memory at its full speed (Machine::panels_at_once). Empty if the rows keep the arithmetic units busy in one
// panel.
std::optional<RegisterTile> tile_of_few_rows(const Machine&, int64_t rows, int64_t n_per_vector, int64_t panel_width);

// Empty when the function is not a contraction that this schedule handles. `layouts` and `constant` as in
// ScheduleRequest; the machine is the storage machine. `whole_blocks`: panels must consist of whole blocks of N.
std::optional<ContractionPlan> plan_contraction(const TensorFunction&, const std::vector<Layout>& layouts,
                                                const std::vector<bool>& constant, const ScheduleOptions&,
                                                const Machine&, bool whole_blocks, const TuningConfig& = {});

Stmt schedule_contraction(const ContractionPlan&, const Machine&, const TuningConfig& = {});

// Image rows [top, top + tall), all pixels of each, of the N indices [first_n, first_n + n) of one panel. All of it
// lies inside the result, the padding of the storage's last block included.
struct ContractionArea {
  Expr first_n;
  int64_t n = 0;
  Expr top;
  int64_t tall = 0;
};

// The contraction in two pieces, for line-buffer fusion: the copies of operands, once, and the loop nest of an area.
// The variables of M axes other than the image's are free in it.
Stmt schedule_copies(const ContractionPlan&, const Machine&);
Stmt schedule_area(const ContractionPlan&, const ContractionArea&, const Machine&, const TuningConfig& = {});

}  // namespace dlcc::tensor
