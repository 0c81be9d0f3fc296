// The operators and parameters of an imported model, before any pass.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "relay/ir.h"

namespace dlcc {

struct ModelContents {
  std::map<std::string, int64_t> operators;  // number of calls, by the operator's name
  int64_t parameters = 0;                    // elements of the constants; a shared constant counts once
};

ModelContents contents_of(const relay::Module&);

}  // namespace dlcc
