/* The text of each status, from the table that the compiler also uses. */
#include "dlcc/dlcc.h"

const char* dlcc_status_string(dlcc_status status) {
  switch ((int)status) {
#define STATUS(name, number, text) \
  case number:                     \
    return text;
#include "dlcc/status.def"
#undef STATUS
  }
  return "unknown status";
}
