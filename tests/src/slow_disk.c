/* Preloaded before a server's C library (LD_PRELOAD): whatever waits for the disk waits longer, by as
 * many microseconds as the 64-bit number in the file that SLOW_DISK names. The file is mapped, so
 * writing to it changes the delay of the running server. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const volatile int64_t *delay;

__attribute__((constructor)) static void find_delay(void) {
    const char *path = getenv("SLOW_DISK");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *delay, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) delay = mapped;
    close(file);
}

static void wait_for_the_disk(void) {
    if (delay && *delay > 0) usleep((useconds_t)*delay);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_for_the_disk();
    return real(file);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_for_the_disk();
    return real(file);
}
