// --runner and --runner-cc of the commands that run models.
#pragma once

#include <memory>
#include <string>

#include "driver/command_line.h"
#include "pipeline/foreign_runner.h"

namespace dlcc::driver {

class RunnerOptions {
 public:
  void add_to(CommandLine&);

  // What runs the objects of this target; null without --runner, for this machine.
  std::unique_ptr<ForeignRunner> make_runner(const targets::Target&) const;

  bool is_given() const { return !runner_.empty(); }

 private:
  std::string runner_, compiler_;
};

}  // namespace dlcc::driver
