// The options of one compilation, as the command line gives them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontends/arguments.h"
#include "pipeline/run_passes.h"
#include "shape/size_range.h"
#include "tensor/schedules/schedule.h"

namespace dlcc {

struct CompileOptions {
  std::string model;                                               // path, or "-"
  std::shared_ptr<const std::vector<std::byte>> model_bytes = {};  // null: not read yet
  std::string prefix;                                              // of the C interface; empty: the name of the model
  std::string target = "x86-64";
  std::string mcpu, mattr;  // as find_target takes them
  int optimization = 2;
  tensor::ScheduleOptions schedule = {};
  int jobs = 1;                                // threads of the compiler
  std::map<std::string, SizeRange> dims = {};  // values of symbolic dimensions, by name
  // The forms of inputs that are no tensors or have fixed values, by name; and a function that finds missing forms.
  std::map<std::string, frontends::InputForm> inputs = {};
  frontends::FindInputForm find_input_form = {};
  std::map<std::string, int64_t> bounds = {};  // upper bounds of data-dependent sizes, by name
  std::string params;                          // path of an archive with values of a program's parameters; empty: none
  std::string weights_section;                 // of the object; empty: .rodata.P_weights
  std::string weights_file;                    // path of the file that holds the weights; empty: the object has them
  std::string tuning_records;                  // path of the tuning records that schedules follow; empty: none
  std::string text_file;                       // name of the program's text in debug information (-g); empty: none

  PassRunOptions passes = {};
  bool time_passes = false;
  // Called with the name of a stage when it begins, with its progress, and with "" when it ends; by one thread at a
  // time.
  std::function<void(const std::string&)> progress;
};

}  // namespace dlcc
