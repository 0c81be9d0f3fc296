#include "targets/llvm/child_process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "support/diagnostics.h"

namespace dlcc::targets {

// The report of the child's signal handler to the parent.
struct Fault {
  int signal;  // that terminated the child; 0: none
  bool writing;
  bool access_known;  // whether `writing` is known
  uintptr_t address;
};

namespace {

Fault* fault_report = nullptr;  // of the signal handler, which has no user argument; set in the child only

void on_fault(int signal, siginfo_t* info, void* context) {
  fault_report->signal = signal;
  fault_report->address = reinterpret_cast<uintptr_t>(info->si_addr);
#ifdef __x86_64__
  auto error = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  fault_report->access_known = true;
  fault_report->writing = error & 2;
#else
  (void)context;
#endif
  _exit(1);
}

void catch_faults(Fault* report) {
  fault_report = report;
  static char stack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = stack, alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) sigaction(s, &action, nullptr);
}

std::string text_of(const Fault& fault, const std::function<std::string(uintptr_t)>& describe) {
  const std::string what = strsignal(fault.signal);
  if (fault.signal != SIGSEGV && fault.signal != SIGBUS) return fmt::format("the model was stopped by '{}'", what);
  std::string where = describe(fault.address);
  if (where.empty()) where = fmt::format("address {:#x}, which belongs to no tensor", fault.address);
  const char* access = !fault.access_known ? "access" : fault.writing ? "write" : "read";
  return fmt::format("the model was stopped by '{}': {} of {}", what, access, where);
}

}  // namespace

// In memory that parent and children share.
struct ChildProcess::Report {
  Fault fault;
  int status;
  double numbers[1];
};

ChildProcess::ChildProcess(size_t number_count) : bytes_(sizeof(Report) + sizeof(double) * number_count) {
  void* shared = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  DLCC_CHECK(shared != MAP_FAILED, "no memory");
  report_ = new (shared) Report{};
}

ChildProcess::~ChildProcess() { munmap(report_, bytes_); }

int& ChildProcess::status() { return report_->status; }

double* ChildProcess::numbers() { return report_->numbers; }

std::string ChildProcess::run(int seconds, const std::function<void()>& work,
                              const std::function<std::string(uintptr_t)>& describe) {
  report_->fault = {};
  report_->status = 0;
  pid_t child = fork();
  DLCC_CHECK(child >= 0, "fork failed");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child does not outlive dlcc
    catch_faults(&report_->fault);
    alarm(static_cast<unsigned>(seconds));
    work();
    _exit(0);
  }
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return "";
  if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGALRM)
    return fmt::format("the model did not finish within {} seconds", seconds);
  if (report_->fault.signal) return text_of(report_->fault, describe);
  return fmt::format("the child process ended with wait status {}", ended);
}

}  // namespace dlcc::targets
