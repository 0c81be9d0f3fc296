// A plugin of QEMU 7.2 to 9: counts how often each translated block of the program ran, and writes a line
// "ADDRESS INSTRUCTIONS COUNT" for each to a file, the argument out=FILE. The declarations are those of qemu-plugin.h,
// which Debian does not package.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct qemu_plugin_tb;
typedef uint64_t qemu_plugin_id_t;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, enum qemu_plugin_op, void *, uint64_t);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

struct block {
  uint64_t address, instructions, count;
  struct block *next;
};
static struct block *blocks;
static const char *path;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
  (void)id;
  struct block *block = malloc(sizeof *block);
  if (!block) abort();
  *block = (struct block){qemu_plugin_tb_vaddr(tb), qemu_plugin_tb_n_insns(tb), 0, blocks};
  blocks = block;
  qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &block->count, 1);
}

static void finished(qemu_plugin_id_t id, void *unused) {
  (void)id, (void)unused;
  FILE *file = fopen(path, "w");
  if (!file) abort();
  for (const struct block *b = blocks; b; b = b->next)
    if (b->count) fprintf(file, "%llx %llu %llu\n", (unsigned long long)b->address, (unsigned long long)b->instructions,
                          (unsigned long long)b->count);
  fclose(file);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
                                                               char **argv) {
  (void)info;
  if (argc != 1) return 1;
  path = argv[0];
  for (const char *at = path; *at; ++at)
    if (*at == '=') path = at + 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finished, NULL);
  return 0;
}
